import os
from pathlib import Path

import pytest

from scripts.gpu_check.__main__ import check, gpus
from tests.conftest import ROOT

FAKE = "#!/bin/sh\necho 'NVIDIA L4, 580.1, 23034 MiB, 1 MiB, 0 %'\n"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder where programs are found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def _put(folder: Path, text: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)


def test_gpus_are_told_as_nvidia_smi_tells_them(programs: Path) -> None:
    _put(programs, FAKE)
    assert "| NVIDIA L4 | 580.1 | 23034 MiB |" in gpus()


def test_without_a_driver_it_is_said_that_no_gpu_is_seen(programs: Path) -> None:
    assert gpus().startswith("no GPU is seen here")


def test_a_driver_that_fails_is_no_gpu(programs: Path) -> None:
    _put(programs, "#!/bin/sh\nexit 9\n")
    assert gpus().startswith("no GPU is seen here")


def test_the_report_tells_of_an_address_where_nobody_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    bench = ["--operations", "embeddings", "--shapes", "burst", "--burst", "1"]
    environ = {**os.environ, "QUARTET_API_KEY": "no key"}
    assert check("http://127.0.0.1:9", environ, "demo", "", bench, tmp_path) == 1
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "verify: status 2" in report
    assert "1 calls failed" in report
