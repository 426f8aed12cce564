"""The command: what it exports, refuses and leaves alone."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from frontend.catalogue.voices import Voice, exported_voices
from scripts.export_models import __main__ as export
from scripts.export_models import plan, space, stamp, step
from scripts.export_models.checkpoints import EMBEDDER, VOICE_FILES, VOICES
from scripts.export_models.parity import Exported
from scripts.export_models.sources import source_of
from scripts.export_models.stamp import Digests, Stamp
from tests.conftest import ROOT
from tests.small_voices import write_voice


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One voice on disk, laid out as on the hub."""
    folder = tmp_path / "models"
    model = folder / VOICES.repository / f"{VOICE_FILES['ryan']}.onnx"
    write_voice(model)
    return folder


@pytest.fixture(autouse=True)
def _steps_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process for each step imports its libraries for seconds; ``test_step.py`` has such processes."""

    def made(options: argparse.Namespace, _: object, model: str, done: int, total: int) -> Stamp:
        log = options.work / space.LOG
        with log.open("a", encoding="utf-8") as file, redirect_stdout(file), redirect_stderr(file):
            return step._made(options, model, step._Shown(file, done, total, model))

    monkeypatch.setattr(export, "_made", made)


@pytest.fixture
def writes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An export of a voice writes other bytes each time, and converts nothing."""

    def exported(options: argparse.Namespace, model: str, _: object) -> Exported:
        path = options.repository / model / "1" / "model.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(16))
        return Exported("rewritten", [])

    monkeypatch.setattr(step, "_export", exported)


@pytest.fixture
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """``test_voice.py`` compares sentences of every length."""
    monkeypatch.setattr("scripts.export_models.voice._LONGEST", 3)


def _main(folder: Path, *more: str, only: str = "piper_ryan") -> int:
    work = folder.parent
    folders = ["--repository", str(work / "repository"), "--work", str(work / "work")]
    (work / "repository").mkdir(exist_ok=True)
    return export.main(["--source", "folder", "--folder", str(folder), *folders, "--only", only, *more])


def _errors(capsys: pytest.CaptureFixture[str]) -> list[str]:
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    return printed.err.splitlines()


def _written(folder: Path) -> Path:
    return folder.parent / "repository" / "piper_ryan" / "1" / "model.onnx"


@pytest.mark.usefixtures("writes_at_once")
def test_a_voice_is_exported_once_also_if_its_folder_moves(folder: Path) -> None:
    assert _main(folder) == 0
    before = _written(folder).read_bytes()
    moved = folder.rename(folder.with_name("moved"))
    assert _main(moved) == 0
    assert _written(moved).read_bytes() == before
    assert _main(moved, "--force") == 0
    assert _written(moved).read_bytes() != before


@pytest.mark.usefixtures("writes_at_once")
def test_an_export_writes_into_no_file_that_another_export_has_too(folder: Path) -> None:
    assert _main(folder) == 0
    other = folder.parent / "other"
    shutil.copytree(folder.parent / "repository", other, copy_function=os.link)
    before = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
    assert _main(folder, "--force") == 0
    assert {path: path.read_bytes() for path in before} == before
    written = [path for path in (folder.parent / "repository").rglob("*") if path.is_file()]
    assert len(written) == len(before)
    assert all(path.stat().st_nlink == 1 for path in written)


@pytest.fixture
def voices(folder: Path) -> Path:
    """A folder with the added voice eva, whose files are ryan's."""
    added = folder.parent / "voices"
    added.mkdir()
    for path in (folder / VOICES.repository).rglob("*.onnx*"):
        shutil.copy(path, added / f"eva{''.join(path.suffixes)}")
    return added


@pytest.mark.usefixtures("few_sentences")
def test_an_added_voice_is_exported_with_a_sample_and_a_broken_one_is_named(
    folder: Path, voices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (voices / "bad.onnx").write_bytes(b"a graph")
    assert _main(folder, "--voices", str(voices), "--only", "piper_bad", only="piper_eva") == plan.SOME_FAILED
    (line,) = [line for line in _errors(capsys) if "piper_bad" in line]
    assert line == f"piper_bad could not be exported: {voices}/bad.onnx.json is missing"
    repository = folder.parent / "repository"
    assert exported_voices(repository) == (Voice("eva", "en", "unknown"),)
    assert (repository / "piper_eva" / "1" / "sample.wav").read_bytes()[:4] == b"RIFF"
    assert stamp.added(repository) == ["piper_bad", "piper_eva"]
    assert _main(folder, "--voices", str(voices), "--only", "piper_bad", "--stale", only="piper_eva") == 0


def test_an_added_voice_goes_when_its_folder_no_longer_has_it(
    folder: Path, voices: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = folder.parent / "repository"
    for name in ("piper_eva", "piper_max"):
        stamp.write(repository, name, Stamp(source=stamp.ADDED))
    monkeypatch.setattr(export, "_run", lambda options, arguments, todo: 0)
    folders = ["--repository", str(repository), "--work", str(folder.parent / "work")]
    assert export.main(["--source", "demo", "--voices", str(voices), *folders]) == 0
    assert sorted(path.name for path in repository.iterdir()) == ["piper_eva"]


def test_an_empty_config_is_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = folder / EMBEDDER.repository / "config.json"
    config.parent.mkdir(parents=True)
    config.touch()
    assert _main(folder, only="m3_embedder") == 2
    assert _errors(capsys) == [f"export stopped: {config} is empty"]


@pytest.mark.usefixtures("writes_at_once")
def test_a_missing_checkpoint_is_named_and_the_other_models_are_exported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _main(folder, "--only", "m3_embedder") == plan.SOME_FAILED
    assert _written(folder).exists()
    line, *_ = _errors(capsys)
    assert re.match("m3_embedder could not be exported: .* must hold the files of BAAI/bge-m3", line)
    failed = stamp.read(folder.parent / "repository", "m3_embedder")
    assert failed is not None
    assert "must hold" in failed.failed


def test_unreadable_weights_are_one_sentence_and_the_log_has_the_traceback(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / VOICES.repository / f"{VOICE_FILES['ryan']}.onnx").write_bytes(b"no model")
    assert _main(folder) == 2
    *_, last = [line for line in _errors(capsys) if line.startswith("piper_ryan could not be exported: ")]
    assert "export.log)" in last
    assert "Traceback" in (folder.parent / "work" / "export.log").read_text(encoding="utf-8")


@pytest.mark.usefixtures("few_sentences")
def test_a_truncated_voice_is_named_and_the_other_models_are_exported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = folder / VOICES.repository / f"{VOICE_FILES['ryan']}.onnx"
    cut = folder / VOICES.repository / f"{VOICE_FILES['siwis']}.onnx"
    cut.parent.mkdir(parents=True)
    cut.write_bytes(whole.read_bytes()[:-1000])
    shutil.copy(whole.with_name(f"{whole.name}.json"), cut.with_name(f"{cut.name}.json"))
    assert _main(folder, "--only", "piper_siwis") == plan.SOME_FAILED
    (line,) = [line for line in _errors(capsys) if line.startswith("piper_siwis could not be exported: ")]
    assert "no way to export it passes: rewritten: " in line
    exported, failed = (stamp.read(folder.parent / "repository", name) for name in ("piper_ryan", "piper_siwis"))
    assert exported is not None
    assert failed is not None
    assert (exported.way, bool(exported.failed)) == ("rewritten", False)
    assert (failed.way, "| original: " in failed.failed) == ("", True)


def test_an_unreachable_hub_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert export.main(["--source", "hub", "--repository", str(tmp_path), "--work", str(tmp_path)]) == 2
    (line,) = _errors(capsys)
    assert line.startswith("export stopped: the model hub http://127.0.0.1:9 cannot be reached (")


def test_a_full_disk_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    assert _main(folder) == 2
    (line,) = _errors(capsys)
    assert line.startswith("export stopped: 2 MB of disk are needed (2 MB of exports), and that of ")
    assert line.endswith("repository has 1 MB free")


@pytest.mark.usefixtures("writes_at_once")
def test_a_full_disk_does_not_matter_if_everything_is_exported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _main(folder) == 0
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    assert _main(folder) == 0


def test_a_check_writes_nothing(folder: Path) -> None:
    assert _main(folder, "--check") == 0
    assert not _written(folder).exists()


def test_a_check_needs_no_packages(folder: Path) -> None:
    """So it can come before the minutes that an installation takes."""
    # Without site packages.
    command = [sys.executable, "-S", "-m", "scripts.export_models", "--check", "--source", "folder"]
    arguments = ["--folder", str(folder), "--only", "piper_ryan"]
    assert subprocess.run([*command, *arguments], cwd=ROOT, check=False).returncode == 0


@pytest.mark.usefixtures("writes_at_once")
def test_what_is_not_checked_is_printed_at_each_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _main(folder) == 0
    found = stamp.read(folder.parent / "repository", "piper_ryan")
    assert found is not None
    stamp.write(folder.parent / "repository", "piper_ryan", replace(found, not_checked=["on CUDA"]))
    capsys.readouterr()
    assert _main(folder) == 0
    assert _errors(capsys) == ["piper_ryan is exported and not checked: on CUDA"]


def _wanted(options: argparse.Namespace, model: str) -> Stamp:
    source = source_of(options.source, options.folder, options.work)
    return stamp.wanted(model, source, options.source, options.precision, Digests(options.work / "digests.json"))


def test_both_whispers_of_one_checkpoint_are_exported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def made(options: argparse.Namespace, _: object, model: str, *__: object) -> Stamp:
        ran.append(model)
        (tmp_path / model / "1" / "whisper").mkdir(parents=True)
        (tmp_path / model / "1" / "whisper" / "encoder.bin").write_bytes(b"weights")
        return replace(_wanted(options, model), way="int8")

    monkeypatch.setattr(export, "_made", made)
    folders = ["--repository", str(tmp_path), "--work", str(tmp_path / "work")]
    models = ["whisper_turbo", "whisper_large_v3"]
    assert export.main([*folders, *(part for model in models for part in ("--only", model))]) == 0
    files = [tmp_path / model / "1" / "whisper" / "encoder.bin" for model in models]
    assert (ran, files[0].samefile(files[1])) == (["whisper_turbo"], True)
    stamps = [stamp.read(tmp_path, model) for model in models]
    assert stamps[0] is not None
    assert stamps[0] == stamps[1]


@pytest.fixture
def exports_in_bf16(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models whose export is begun; it takes bf16."""
    begun: list[str] = []

    def made(options: argparse.Namespace, _: object, model: str, *__: object) -> Stamp:
        begun.append(model)
        return replace(_wanted(options, model), way="bf16", skipped=["int8: lost too much"])

    monkeypatch.setattr(export, "_made", made)
    return begun


def test_a_skipped_way_is_printed_when_it_happens_and_at_each_start(
    folder: Path, exports_in_bf16: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    line = "piper_ryan is exported in bf16, not in int8: lost too much"
    assert _main(folder) == 0
    assert line in _errors(capsys)
    assert _main(folder) == 0
    assert _errors(capsys) == [line]
    assert len(exports_in_bf16) == 1


def test_a_strict_export_redoes_one_that_skipped_a_way(folder: Path, exports_in_bf16: list[str]) -> None:
    assert _main(folder) == _main(folder, "--strict") == 0
    assert len(exports_in_bf16) == 2
