"""Threads and instances grow with the machine, and Triton reads what is written for it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tritonclient.grpc.model_config_pb2 import ModelConfig, ModelInstanceGroup

from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
from scripts.local_triton.checks import PreflightError
from scripts.run.fit import CONFIG_NAME, Fit, of_this_machine
from scripts.run.model_configs import parsed
from tests.conftest import ROOT

GB = 10**9
TWO = Fit.of(2, 24 * GB)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for config in (ROOT / "model_repository").glob("*/config.pbtxt"):
        (tmp_path / config.parent.name).mkdir()
        shutil.copy(config, tmp_path / config.parent.name)
        stamp.write(tmp_path, config.parent.name, Stamp())
    return tmp_path


def _written(repository: Path) -> dict[str, ModelConfig]:
    return {path.parents[1].name: parsed(path) for path in repository.glob(f"*/configs/{CONFIG_NAME}.pbtxt")}


def test_some_processors_are_left_to_the_frontend() -> None:
    assert [Fit.of(number, 64 * GB).threads for number in (1, 2, 4, 8, 16, 64)] == [1, 2, 3, 6, 12, 16]


def test_a_run_has_no_more_threads_than_cores_that_are_near_each_other() -> None:
    assert [Fit.of(16, 64 * GB, cores).threads for cores in (4, 8, 16)] == [4, 8, 12]


def test_given_numbers_override_the_fit() -> None:
    fitted = of_this_machine({})
    assert of_this_machine({"FIT": "threads=3, voices=5"}) == replace(fitted, threads=3, voices=5)


@pytest.mark.parametrize("said", ["thread=3", "threads=0", "threads", "processors=3", "voices=99999999999"])
def test_an_invalid_number_is_refused(said: str) -> None:
    with pytest.raises(PreflightError, match="must be like threads=4"):
        of_this_machine({"FIT": said})


def test_a_large_machine_has_several_whispers_if_memory_allows() -> None:
    assert [Fit.of(64, memory * GB).whispers for memory in (16, 32, 512)] == [1, 2, 3]


def test_a_large_gpu_has_two_of_each_whisper() -> None:
    found = [Fit.of(16, 64 * GB, gpu_memory=memory * GB).gpu_whispers for memory in (0, 24, 48, 80)]
    assert found == [1, 1, 1, 2]


def test_voices_are_bounded_by_memory_and_never_fewer_than_committed() -> None:
    assert [Fit.of(16, memory * GB).voices for memory in (8, 24, 256)] == [2, 4, 8]
    assert Fit.of(1, 24 * GB).voices == 1


def test_more_voices_have_fewer_instances_in_the_same_memory() -> None:
    assert [Fit.of(16, 24 * GB, spoken=voices).voices for voices in (6, 12, 60)] == [4, 2, 2]


def test_every_model_has_the_chosen_numbers(repository: Path) -> None:
    fit = Fit.of(64, 512 * GB)
    fit.write(repository)
    written = _written(repository)
    assert {name: config.instance_group[0].count for name, config in written.items()} == {
        **dict.fromkeys(("whisper_turbo", "whisper_large_v3"), fit.whispers),
        **dict.fromkeys(("m3_embedder", "m3_reranker"), 2),
        **dict.fromkeys((name for name in written if name.startswith("piper_")), fit.voices),
        "kokoro": fit.kokoros,
    }
    assert written["whisper_turbo"].parameters["intra_threads"].string_value == str(fit.threads)
    assert written["m3_embedder"].parameters["intra_threads"].string_value == str(fit.threads)


def test_the_fit_is_printed_and_changes_nothing_else(repository: Path) -> None:
    fit = Fit.of(8, 64 * GB)
    fit.write(repository)
    assert str(fit).startswith("8 processors: 6 threads a text or Whisper run")
    fitted = _written(repository)["whisper_turbo"]
    assert fitted.parameters.pop("intra_threads").string_value == "6"
    assert fitted.instance_group[0].count == 1
    fitted.instance_group[0].count = 0
    committed = parsed(repository / "whisper_turbo" / "config.pbtxt")
    committed.parameters.pop("intra_threads")
    assert fitted == committed


_OPEN = """
instance_group {
  kind: KIND_CPU
}
parameters [
  { key: 'intra_threads', value: { string_value: 'auto' } }  # reformatted
]
"""
_OWN = _OPEN.replace("kind", "count: 5 kind").replace("auto", "1")


@pytest.mark.parametrize(("name", "instances"), [("whisper_turbo", 3), ("piper_ryan", 8), ("kokoro", 4)])
def test_what_a_file_leaves_open_is_filled_in_however_it_is_written(
    repository: Path, name: str, instances: int
) -> None:
    _set(repository, name, _OPEN)
    Fit.of(64, 64 * GB).write(repository)
    assert _written(repository)[name].instance_group[0].count == instances


@pytest.mark.parametrize("name", ["whisper_turbo", "piper_ryan", "kokoro", "m3_embedder"])
def test_what_an_operator_writes_wins(repository: Path, name: str) -> None:
    Fit.of(64, 64 * GB).write(repository)
    _set(repository, name, _OWN)
    Fit.of(64, 64 * GB).write(repository)
    assert name not in _written(repository)


def test_a_foreign_model_keeps_its_file(repository: Path) -> None:
    (repository / "own").mkdir()
    _set(repository, "own", "name: 'own' backend: 'python' instance_group { count: 3 }")
    TWO.write(repository)
    assert "own" not in _written(repository)


def test_a_file_that_is_no_configuration_is_named_and_the_others_are_fitted(repository: Path) -> None:
    _set(repository, "m3_embedder", "name: 'm3_embedder' colour: 3")
    lines = TWO.write(repository)
    assert "not read: " in lines["m3_embedder"]
    assert 'no field named "colour"' in lines["m3_embedder"]
    assert _written(repository).keys() == lines.keys() - {"m3_embedder"}


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_fitted(repository: Path) -> None:
    # The superuser can read every file but a folder.
    path = repository / "m3_embedder" / "config.pbtxt"
    path.unlink()
    path.mkdir()
    lines = TWO.write(repository)
    assert "not read: " in lines["m3_embedder"]
    assert _written(repository).keys() == lines.keys() - {"m3_embedder"}


def test_a_line_a_model_says_what_runs_and_where_each_number_comes_from(repository: Path) -> None:
    lines = Fit.of(2, 24 * GB).write(repository)
    assert lines["m3_embedder"].split(maxsplit=1) == [
        "m3_embedder",
        "python on CPU, threads 2 (this machine), instances 2, batch 32, delay 2000 µs, from config.pbtxt",
    ]
    assert "instances 2 (this machine)" in lines["piper_ryan"]


def test_a_line_says_in_which_precision_a_model_was_exported_and_what_was_measured(
    repository: Path, tmp_path: Path
) -> None:
    stamp.write(repository, "m3_embedder", Stamp(way="bf16", why="int8 37 ms, bf16 42 ms"))
    stamp.write(repository, "whisper_turbo", Stamp(way="int8"))
    for lines in (TWO.write(repository), TWO.link(repository, tmp_path / "linked")):
        assert lines["m3_embedder"].endswith(", exported in bf16 (int8 37 ms, bf16 42 ms)")
        assert lines["whisper_turbo"].endswith(", exported in int8")


def _set(repository: Path, name: str, text: str) -> None:
    (repository / name / "config.pbtxt").write_text(text, encoding="utf-8")


def test_processors_that_are_given_are_not_counted() -> None:
    assert of_this_machine({"PROCESSORS": "64"}).threads > of_this_machine({"PROCESSORS": "1"}).threads
    assert of_this_machine({"PROCESSORS": "0"}) == of_this_machine({})


def test_processors_that_are_no_number_are_refused() -> None:
    with pytest.raises(PreflightError, match="PROCESSORS=four: must be a whole number"):
        of_this_machine({"PROCESSORS": "four"})


def test_links_leave_the_repository_alone_and_bring_configurations_that_fit(repository: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    fit, folder = Fit.of(64, 512 * GB), tmp_path / "linked"
    fit.link(repository, folder)
    assert {path: path.read_bytes() for path in before} == before
    assert (folder / "whisper_turbo" / "config.pbtxt").resolve() == repository / "whisper_turbo" / "config.pbtxt"
    assert _written(folder)["whisper_turbo"].instance_group[0].count == fit.whispers


def test_what_an_earlier_start_wrote_into_a_checkout_does_not_run(repository: Path, tmp_path: Path) -> None:
    machine, config = repository / "m3_embedder" / "configs" / "machine.pbtxt", repository / "m3_embedder/config.pbtxt"
    Fit.of(4, 8 * 10**9).write(repository)
    assert machine.is_file()
    text = config.read_text(encoding="utf-8")
    # Nothing is left open, so nothing is written.
    config.write_text(text.replace('"auto"', '"1"'), encoding="utf-8")
    Fit.of(4, 8 * 10**9).link(repository, tmp_path / "linked")
    assert list((tmp_path / "linked" / "m3_embedder" / "configs").iterdir()) == []
    Fit.of(4, 8 * 10**9).link(repository, tmp_path / "linked", "gpu")
    assert not (tmp_path / "linked" / "m3_embedder" / "configs" / "machine.pbtxt").exists()


def test_on_a_gpu_its_own_files_are_fitted_and_voices_have_those_of_processors(
    repository: Path, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "model_repository/whisper_turbo/configs", repository / "whisper_turbo/configs")
    fit = Fit.of(16, 64 * GB, gpu_memory=80 * GB)
    lines = fit.link(repository, tmp_path / "linked", "gpu")
    whisper, voice = (_linked(tmp_path, name) for name in ("whisper_turbo", "piper_ryan"))
    assert [(group.kind, group.count) for group in whisper.instance_group] == [(ModelInstanceGroup.KIND_GPU, 2)]
    assert voice.instance_group[0].count == fit.voices
    assert "instances 2 (this machine), batch 16" in lines["whisper_turbo"]


def test_what_an_operator_writes_for_a_gpu_wins(repository: Path, tmp_path: Path) -> None:
    own = repository / "whisper_turbo" / "configs" / "gpu.pbtxt"
    own.parent.mkdir()
    own.write_text("instance_group { count: 3 kind: KIND_GPU }", encoding="utf-8")
    Fit.of(16, 64 * GB, gpu_memory=80 * GB).link(repository, tmp_path / "linked", "gpu")
    assert _linked(tmp_path, "whisper_turbo").instance_group[0].count == 3


def _linked(folder: Path, name: str) -> ModelConfig:
    return parsed(folder / "linked" / name / "configs" / "gpu.pbtxt")


@pytest.mark.parametrize("failed", [True, False], ids=["failed", "never"])
def test_a_model_that_is_not_exported_is_left_out(repository: Path, tmp_path: Path, failed: bool) -> None:
    if failed:
        stamp.write(repository, "piper_ryan", Stamp(failed="no such file"))
    else:
        stamp.remove(repository, "piper_ryan")
    lines = TWO.link(repository, tmp_path / "linked")
    assert lines["piper_ryan"].endswith("not exported")
    assert not (tmp_path / "linked" / "piper_ryan").exists()
    assert (tmp_path / "linked" / "piper_amy").exists()


def test_a_large_machine_has_kokoros_of_four_threads_if_memory_allows() -> None:
    assert [Fit.of(16, memory * GB).kokoros for memory in (4, 8, 64)] == [1, 2, 3]


def test_a_model_of_the_operators_is_linked_as_it_is(repository: Path, tmp_path: Path) -> None:
    (repository / "their_own" / "1").mkdir(parents=True)
    (repository / "their_own" / "config.pbtxt").write_text('backend: "python"\nmax_batch_size: 4\n', encoding="utf-8")
    TWO.link(repository, tmp_path / "linked")
    linked = tmp_path / "linked" / "their_own"
    assert (linked / "config.pbtxt").samefile(repository / "their_own" / "config.pbtxt")
    assert not any((linked / "configs").iterdir())
