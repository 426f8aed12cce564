"""Threads and instances grow with the machine, and Triton reads what is written for it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
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
        stamp.write(tmp_path, config.parent.name, Stamp())
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


def test_voices_fit_a_gpus_machine_too_and_its_own_configurations_stay(repository: Path, tmp_path: Path) -> None:
    own = repository / "whisper_turbo" / "configs" / "gpu.pbtxt"
    own.parent.mkdir()
    own.write_text("committed", encoding="utf-8")
    fit, folder = Fit.of(64, 512 * GB), tmp_path / "linked"
    fit.link(repository, folder)
    voice = (folder / "piper_ryan" / "configs" / "gpu.pbtxt").read_text(encoding="utf-8")
    assert f"count: {fit.voices} " in voice
    assert (folder / "whisper_turbo" / "configs" / "gpu.pbtxt").read_text(encoding="utf-8") == "committed"


@pytest.mark.parametrize(("count", "fitted"), [(1, 2), (3, 3)], ids=["one", "several of its own"])
def test_a_whisper_has_the_chosen_instances_on_a_gpu(repository: Path, tmp_path: Path, count: int, fitted: int) -> None:
    committed = (ROOT / "model_repository" / "whisper_turbo" / "configs" / "gpu.pbtxt").read_text(encoding="utf-8")
    own = repository / "whisper_turbo" / "configs" / "gpu.pbtxt"
    own.parent.mkdir()
    own.write_text(committed.replace("count: 1 ", f"count: {count} "), encoding="utf-8")
    Fit.of(16, 64 * GB, gpu_memory=80 * GB).link(repository, tmp_path / "linked")
    linked = (tmp_path / "linked" / "whisper_turbo" / "configs" / "gpu.pbtxt").read_text(encoding="utf-8")
    assert linked == committed.replace("count: 1 ", f"count: {fitted} ")
    assert f"count: {count} " in own.read_text(encoding="utf-8")


@pytest.mark.parametrize("failed", [True, False], ids=["failed", "never"])
def test_a_model_that_is_not_exported_is_left_out(repository: Path, tmp_path: Path, failed: bool) -> None:
    if failed:
        stamp.write(repository, "piper_ryan", Stamp(failed="no such file"))
    else:
        stamp.remove(repository, "piper_ryan")
    TWO.link(repository, tmp_path / "linked")
    assert not (tmp_path / "linked" / "piper_ryan").exists()
    assert (tmp_path / "linked" / "piper_amy").exists()


def test_a_large_machine_has_kokoros_of_four_threads_if_memory_allows() -> None:
    assert [Fit.of(16, memory * GB).kokoros for memory in (4, 8, 64)] == [1, 2, 3]
