"""Threads and instances grow with the machine, and Triton reads what is written for it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from scripts.local_triton.checks import PreflightError
from scripts.run.fit import CONFIG_NAME, Fit, of_this_machine
from tests.conftest import ROOT

GB = 10**9
TWO = Fit.of(2, 24 * GB)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for config in (ROOT / "model_repository").glob("*/config.pbtxt"):
        (tmp_path / config.parent.name).mkdir()
        shutil.copy(config, tmp_path / config.parent.name)
    return tmp_path


def _written(repository: Path) -> dict[str, model_config_pb2.ModelConfig]:
    files = repository.glob(f"*/configs/{CONFIG_NAME}.pbtxt")
    return {
        path.parents[1].name: text_format.Parse(path.read_text(encoding="utf-8"), model_config_pb2.ModelConfig())
        for path in files
    }


def test_some_processors_are_left_to_the_frontend() -> None:
    assert [Fit.of(number, 64 * GB).threads for number in (1, 2, 4, 8, 16, 64)] == [1, 2, 3, 6, 12, 16]


def test_a_run_has_no_more_threads_than_cores_that_are_near_each_other() -> None:
    assert [Fit.of(16, 64 * GB, cores).threads for cores in (4, 8, 16)] == [4, 8, 12]


def test_given_numbers_override_the_fit() -> None:
    fitted = of_this_machine({})
    assert of_this_machine({"FIT": "threads=3, voices=5"}) == replace(fitted, threads=3, voices=5)


@pytest.mark.parametrize("said", ["thread=3", "threads=0", "threads", "processors=3"])
def test_an_invalid_number_is_refused(said: str) -> None:
    with pytest.raises(PreflightError, match="must be like threads=4"):
        of_this_machine({"FIT": said})


def test_a_large_machine_has_several_whispers_if_memory_allows() -> None:
    assert [Fit.of(64, memory * GB).whispers for memory in (16, 32, 512)] == [1, 2, 3]


def test_voices_are_bounded_by_memory_and_never_fewer_than_committed() -> None:
    assert [Fit.of(16, memory * GB).voices for memory in (8, 24, 256)] == [2, 4, 8]
    assert Fit.of(1, 24 * GB).voices == 1


def test_every_model_has_the_chosen_numbers(repository: Path) -> None:
    fit = Fit.of(64, 512 * GB)
    fit.write(repository)
    written = _written(repository)
    assert {name: config.instance_group[0].count for name, config in written.items()} == {
        **dict.fromkeys(("whisper_turbo", "whisper_large_v3"), fit.whispers),
        **dict.fromkeys(("m3_embedder", "m3_reranker"), 2),
        **dict.fromkeys((name for name in written if name.startswith("piper_")), fit.voices),
    }
    assert written["whisper_turbo"].parameters["intra_threads"].string_value == str(fit.threads)
    assert written["m3_embedder"].parameters["intra_threads"].string_value == str(fit.threads)


def test_the_fit_is_printed_and_changes_nothing_else(repository: Path) -> None:
    fit = Fit.of(8, 64 * GB)
    fit.write(repository)
    assert str(fit).startswith("8 processors: 6 threads a text or Whisper run")
    committed = (repository / "m3_embedder" / "config.pbtxt").read_text(encoding="utf-8").splitlines()
    fitted = (repository / "m3_embedder" / "configs" / f"{CONFIG_NAME}.pbtxt").read_text(encoding="utf-8").splitlines()
    changed = [line for line, other in zip(committed, fitted, strict=True) if line != other]
    assert changed == ['parameters { key: "intra_threads" value { string_value: "2" } }']


def test_two_processors_use_the_committed_files(repository: Path) -> None:
    Fit.of(8, 64 * GB).write(repository)
    TWO.write(repository)
    assert _written(repository) == {}


def test_a_file_that_cannot_be_fitted_is_an_error(repository: Path) -> None:
    (repository / "m3_embedder" / "config.pbtxt").write_text("name: 'm3_embedder'\n", encoding="utf-8")
    with pytest.raises(ValueError, match="intra_threads"):
        TWO.write(repository)
