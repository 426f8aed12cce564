"""The command: what it refuses, what it leaves alone, and that a signal ends it with all that it started."""

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.export_models import __main__ as export
from scripts.export_models import lanes, stamp, worker
from scripts.export_models.checkpoints import EMBEDDER, VOICE_FILES, VOICES, Checkpoint
from scripts.export_models.graphs.parity import Check, not_checked
from scripts.export_models.graphs.runtimes import OtherRuntime
from scripts.export_models.sources import FolderSource
from scripts.export_models.stamp import Stamp
from scripts.export_models.worker import Job
from tests.conftest import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One voice on disk, laid out as on the hub."""
    folder = tmp_path / "models"
    model = folder / VOICES.repository / f"{VOICE_FILES['amy']}.onnx"
    model.parent.mkdir(parents=True)
    exported = ROOT / "model_repository" / "piper_amy" / "1"
    shutil.copy(exported / "model.onnx", model)
    shutil.copy(exported / "voice.json", model.with_name(f"{model.name}.json"))
    return folder


def _main(folder: Path, *more: str, only: str = "piper_amy") -> int:
    work = folder.parent
    places = ["--repository", str(work / "repository"), "--work", str(work / "work")]
    (work / "repository").mkdir(exist_ok=True)
    return export.main(["--source", "folder", "--folder", str(folder), *places, "--only", only, *more])


def _told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    return said.err.splitlines()


def _written(folder: Path) -> Path:
    return folder.parent / "repository" / "piper_amy" / "1" / "model.onnx"


def test_a_voice_is_exported_and_a_second_time_left_alone_wherever_it_lies(folder: Path) -> None:
    assert _main(folder) == 0
    before = _written(folder).stat().st_mtime_ns
    moved = folder.rename(folder.with_name("moved"))
    assert _main(moved) == 0
    assert _written(moved).stat().st_mtime_ns == before
    assert _main(moved, "--force") == 0
    assert _written(moved).stat().st_mtime_ns > before


def test_a_folder_with_an_empty_config_is_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = folder / EMBEDDER.repository / "config.json"
    config.parent.mkdir(parents=True)
    config.touch()
    assert _main(folder, only="m3_embedder") == 2
    assert _told(capsys) == [f"export stopped: {config} is empty"]


def test_everything_is_looked_at_before_anything_is_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _main(folder, "--only", "m3_embedder") == 2
    assert not _written(folder).exists()
    (line,) = _told(capsys)
    assert "must hold the files of BAAI/bge-m3" in line


def test_weights_that_no_library_reads_are_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / VOICES.repository / f"{VOICE_FILES['amy']}.onnx").write_bytes(b"no model")
    assert _main(folder) == 2
    *_, last = _told(capsys)
    assert last.startswith("export stopped: piper_amy: ")
    assert "export-0.log)" in last
    assert "Traceback" in (folder.parent / "work" / "export-0.log").read_text(encoding="utf-8")


def test_a_hub_that_cannot_be_reached_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert export.main(["--source", "hub", "--repository", str(tmp_path), "--work", str(tmp_path)]) == 2
    (line,) = _told(capsys)
    assert line.startswith("export stopped: the model hub http://127.0.0.1:9 cannot be reached (")


def test_a_disk_that_is_too_small_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    assert _main(folder) == 2
    (line,) = _told(capsys)
    assert line.endswith("repository needs 2 MB, and its disk has 1 MB free")


@pytest.mark.parametrize("version", ["1.19.1", "99.0.0", "1.19", "latest"])
def test_a_runtime_that_exports_are_not_for_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    assert _main(folder, "--onnxruntime", version) == 2
    (line,) = _told(capsys)
    assert version in line


def test_a_check_alone_writes_nothing(folder: Path) -> None:
    assert _main(folder, "--check") == 0
    assert not _written(folder).exists()


def test_a_check_alone_needs_nothing_installed(folder: Path) -> None:
    """So it can come before the minutes that an installation takes."""
    # Without site packages.
    command = [sys.executable, "-S", "-m", "scripts.export_models", "--check", "--source", "folder"]
    arguments = ["--folder", str(folder), "--only", "piper_amy"]
    assert subprocess.run([*command, *arguments], cwd=ROOT, check=False).returncode == 0


def _stamped(repository: Path, checks: list[Check], monkeypatch: pytest.MonkeyPatch) -> Stamp | None:
    """The stamp after a worker whose export gave these checks."""
    (repository / "m3_embedder" / "1").mkdir(parents=True)
    monkeypatch.setattr(worker, "_export", lambda *_: checks)
    job = Job("demo", "", str(repository), "", "", "fp16", "float16", ["1.19.2"], {"m3_embedder": "print"}, 1)
    reader, writer = Pipe(duplex=False)
    worker.main([job.written(), str(os.dup(writer.fileno()))])
    writer.close()
    reader.close()
    return stamp.read(repository, "m3_embedder")


def test_models_of_one_checkpoint_fetch_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Checkpoint] = []

    class Counting(FolderSource):
        def fetch(self, checkpoint: Checkpoint) -> Path:
            asked.append(checkpoint)
            return tmp_path

    monkeypatch.setattr(worker, "source_of", lambda *_: Counting(tmp_path))
    monkeypatch.setattr("scripts.export_models.voices.export.export_piper", lambda *_: [Check("m", "w", 0, 1)])
    models = ("piper_amy", "piper_ryan")
    for model in models:
        (tmp_path / model / "1").mkdir(parents=True)
    job = Job("demo", "", str(tmp_path), "", "", "fp32", "float32", [], dict.fromkeys(models, "print"), 1)
    reader, writer = Pipe(duplex=False)
    worker.main([job.written(), str(os.dup(writer.fileno()))])
    writer.close()
    reader.close()
    assert asked == [VOICES]


def test_an_export_that_passed_is_stamped_with_where_it_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _stamped(tmp_path, [Check("m", "w", 0, 1)], monkeypatch) == Stamp("print", ["1.19.2"], [])


def test_an_export_that_nobody_checked_is_stamped_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _stamped(tmp_path, [not_checked("m", "fp16")], monkeypatch) == Stamp("print", ["1.19.2"], ["fp16"])


def test_an_export_that_failed_has_no_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _stamped(tmp_path, [Check("m", "w", 0, 1), Check("m", "w", 2, 1)], monkeypatch) is None


def test_what_is_not_checked_is_said_again_at_each_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _main(folder) == 0
    found = stamp.read(folder.parent / "repository", "piper_amy")
    assert found is not None
    stamp.write(folder.parent / "repository", "piper_amy", Stamp(found.fingerprint, [], ["on CUDA"]))
    capsys.readouterr()
    assert _main(folder) == 0
    assert _told(capsys) == ["piper_amy is exported and not checked: on CUDA"]


@pytest.mark.parametrize("version", ["1.19.2", "oldest"])
def test_an_export_that_was_not_checked_on_a_runtime_is_exported_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    assert _main(folder) == 0
    ran: list[Job] = []

    def run(jobs: Sequence[Job], *_: object) -> list[Check]:
        ran.extend(jobs)
        return []

    monkeypatch.setattr(OtherRuntime, "install", lambda _: None)
    monkeypatch.setattr(lanes, "run", run)
    assert _main(folder, "--onnxruntime", version) == 0
    (job,) = ran
    assert (list(job.fingerprints), job.versions) == (["piper_amy"], ["1.19.2"])


@contextmanager
def _exporting(work: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A running export of a model that takes a while, and the id of its worker, which has begun."""
    command = [sys.executable, "-m", "scripts.export_models", "--only", "m3_embedder", "--precision", "fp32"]
    places = ["--repository", str(work / "repository"), "--work", str(work / "work")]
    (work / "repository" / "m3_embedder" / "1").mkdir(parents=True)
    process = subprocess.Popen([*command, *places], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "m3_embedder: loading\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
        (child,) = map(int, children)
        yield process, child
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_an_export_with_its_processes(tmp_path: Path, number: signal.Signals) -> None:
    with _exporting(tmp_path) as (process, child):
        handle = os.pidfd_open(child)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
        # Whoever is told to end ends its own first.
        with pytest.raises(ProcessLookupError):
            signal.pidfd_send_signal(handle, 0)
        os.close(handle)
    assert process.returncode == 128 + number
    assert said.splitlines()[-1] == f"export stopped by {number.name}"
    assert "Traceback" not in said


def test_a_killed_export_leaves_no_process_behind(tmp_path: Path) -> None:
    with _exporting(tmp_path) as (process, child):
        handle = os.pidfd_open(child)
        process.kill()
        process.wait(30)
        assert select.select([handle], [], [], 30)[0]
        os.close(handle)


def test_a_worker_that_is_killed_is_one_sentence(tmp_path: Path) -> None:
    with _exporting(tmp_path) as (process, child):
        os.kill(child, signal.SIGKILL)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 2
    assert said.splitlines()[-1].startswith("export stopped: a process of the export was killed: there was not enough")
