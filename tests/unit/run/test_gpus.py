"""Models are placed on GPUs, and Triton reads what is written for it."""

import shutil
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from scripts.run.gpus import CONFIG_NAME, PlacementError, main, write
from tests.conftest import ROOT

MODELS = ("m3_embedder", "m3_reranker", "whisper_large_v3", "whisper_turbo")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for config in (ROOT / "model_repository").glob("*/configs/gpu.pbtxt"):
        folder = tmp_path / config.parents[1].name / "configs"
        folder.mkdir(parents=True)
        shutil.copy(config, folder)
    return tmp_path


def _written(repository: Path, model: str, name: str = CONFIG_NAME) -> model_config_pb2.ModelConfig:
    path = repository / model / "configs" / f"{name}.pbtxt"
    return text_format.Parse(path.read_text(encoding="utf-8"), model_config_pb2.ModelConfig())


def test_a_model_has_its_instances_on_the_gpus_it_is_given(repository: Path) -> None:
    lines = write(repository, {"m3_embedder": [0], "whisper_turbo": [1, 0]}, {})
    group = {model: _written(repository, model).instance_group[0] for model in MODELS}
    assert {model: list(group[model].gpus) for model in MODELS} == {
        "m3_embedder": [0],
        "m3_reranker": [],
        "whisper_large_v3": [],
        "whisper_turbo": [1, 0],
    }
    assert all(each.kind == model_config_pb2.ModelInstanceGroup.KIND_GPU for each in group.values())
    assert lines == [
        "m3_embedder: GPU 0",
        "m3_reranker: every GPU",
        "whisper_large_v3: every GPU",
        "whisper_turbo: GPU 1, 0",
    ]


def test_a_limit_of_memory_is_where_the_backend_heeds_it(repository: Path) -> None:
    assert write(repository, {}, {"m3_reranker": 1.5})[1] == "m3_reranker: every GPU, at most 1.5 GiB of each"
    parameters = _written(repository, "m3_reranker").parameters
    assert parameters["gpu_mem_limit"].string_value == str(3 << 29)
    assert parameters["arena_extend_strategy"].string_value == "1"
    assert "gpu_mem_limit" not in _written(repository, "m3_embedder").parameters


def test_nothing_else_is_changed(repository: Path) -> None:
    write(repository, {"m3_embedder": [1]}, {"m3_embedder": 4})
    placed, committed = (_written(repository, "m3_embedder", name) for name in (CONFIG_NAME, "gpu"))
    for config in (placed, committed):
        config.ClearField("instance_group")
        for name in ("gpu_mem_limit", "arena_extend_strategy"):
            config.parameters.pop(name, None)
    assert placed == committed


def test_what_was_written_before_gives_way(repository: Path) -> None:
    write(repository, {"m3_embedder": [1]}, {})
    write(repository, {}, {})
    assert all(_written(repository, model) == _written(repository, model, "gpu") for model in MODELS)


@pytest.mark.parametrize(
    ("places", "memory", "reason"),
    [
        ({"piper_amy": [0]}, {}, "no model for GPUs is called piper_amy; there are m3_embedder, "),
        ({}, {"m3": 4.0}, "no model for GPUs is called m3;"),
        ({}, {"whisper_turbo": 4.0}, "the memory of whisper_turbo cannot be limited"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    repository: Path, places: dict[str, list[int]], memory: dict[str, float], reason: str
) -> None:
    with pytest.raises(PlacementError, match=reason):
        write(repository, places, memory)
    assert not list(repository.glob(f"*/configs/{CONFIG_NAME}.pbtxt"))


def test_a_file_that_says_something_else_of_its_instances_is_refused(repository: Path) -> None:
    path = repository / "m3_embedder" / "configs" / "gpu.pbtxt"
    path.write_text('name: "m3_embedder"\n', encoding="utf-8")
    with pytest.raises(PlacementError, match="has 0 groups of instances on GPUs"):
        write(repository, {}, {})


def test_the_command_says_what_it_wrote(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--repository", str(repository), "--place", "m3_embedder=0,1,0", "--memory", "m3_embedder=6"]) == 0
    assert capsys.readouterr().out.startswith("m3_embedder: GPU 0, 1, at most 6 GiB of each\n")
    assert main(["--repository", str(repository), "--place", "piper_amy=0"]) == 2
    assert capsys.readouterr().err.startswith("no model for GPUs is called piper_amy")


@pytest.mark.parametrize(
    "option", ["--place m3_embedder", "--place m3_embedder=a", "--place m3_embedder=0,", "--memory m3_embedder=0"]
)
def test_an_option_that_is_not_understood_is_shown_one_that_is(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(option.split())
    assert "must be like m3_embedder=" in capsys.readouterr().err
