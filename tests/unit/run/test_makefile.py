"""What make refuses before it installs anything."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.unit.run.conftest import Make


@pytest.fixture(autouse=True)
def _checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("scripts", "frontend", "client", "pyproject.toml", "docker"):
        (tmp_path / name).symlink_to(ROOT / name)


@pytest.mark.parametrize("name", ["PROT", "MODEL", "port", "VOICES", "FITS", "PYTHN"])
def test_a_misspelt_variable_is_refused(make: Make, name: str) -> None:
    done = make("run", f"{name}=1")
    assert done.returncode == 2
    assert f"there is no variable {name}; there are PYTHON PORT MODELS" in done.stderr


def _documented() -> list[str]:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))]
    lines = [*pages, (ROOT / "Makefile").read_text(encoding="utf-8")]
    return sorted({name for text in lines for name in re.findall(r"make [a-z-]+ (?:\S+=\S+ )*([A-Z_]+)=", text)})


# What pip, uv, the hub's client and Python read.
_PROGRAMS = (
    "HF_ENDPOINT",
    "PIP_INDEX_URL",
    "https_proxy",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "XDG_CACHE_HOME",
    "LC_ALL",
)


@pytest.mark.parametrize("name", [*_documented(), "QUARTET_THREADS", *_PROGRAMS])
def test_variables_of_the_pages_and_of_programs_are_taken(make: Make, name: str) -> None:
    done = make("-n", "help", f"{name}=--model embeddings=x y=z")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_variable_of_the_environment_may_be_anything(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROT", "1")
    assert make("-n", "help").returncode == 0


@pytest.mark.parametrize("variable", ["FIT=thread=2", "FIT=threads=0", "FIT=voices", "PROCESSORS=two"])
@pytest.mark.parametrize("target", ["run", "export"])
def test_a_wrong_number_of_the_machine_is_told_before_the_installation(make: Make, target: str, variable: str) -> None:
    done = make(f"check-{target}", variable)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{variable}: must be ")


def _python(folder: Path, version: str) -> Path:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\necho Python {version}\n")
    path.chmod(0o755)
    return path


def test_an_environment_of_another_python_is_told(make: Make, tmp_path: Path) -> None:
    done = make("check-python", f"PYTHON={_python(tmp_path, '3.9.1')}")
    assert done.returncode == 2
    assert re.match(
        r"\.venv has Python 3\.\S+, not the Python 3\.9\.1 of PYTHON=.*: remove \.venv, or leave out", done.stderr
    )


def test_the_same_python_and_none_are_taken(make: Make) -> None:
    assert make("check-python", "PYTHON=.venv/bin/python").returncode == 0
    assert make("check-python").returncode == 0
