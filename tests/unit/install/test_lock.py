"""Versions stand in one place, and what is installed is what was locked: all packages, each with its hashes."""

import ast
import email
import importlib.metadata
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from scripts.install.__main__ import PARTS
from scripts.install.lock import LOCKS, TORCH_CPU, TORCH_CUDA
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]+\])?==([^\s;]+)", re.MULTILINE)


def _pins(text: str) -> dict[str, str]:
    return {re.sub(r"[._-]+", "-", name).lower(): version for name, version in _PIN.findall(text)}


def _locked(path: str | Path) -> dict[str, str]:
    return _pins((ROOT / path).read_text(encoding="utf-8"))


def _named(group: str) -> dict[str, str]:
    named = PROJECT["dependency-groups"][group] if group else PROJECT["project"]["dependencies"]
    return _pins("\n".join(line for line in named if isinstance(line, str)))


@pytest.mark.parametrize("path", [*LOCKS, TORCH_CPU, TORCH_CUDA], ids=str)
def test_all_lines_have_a_version_and_hashes_and_no_place(path: str | Path) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for number, line in enumerate(lines):
        if re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) is None:
            assert _PIN.match(line), line
            assert lines[number + 1].startswith("    --hash="), line
    assert "://" not in text
    assert "--index" not in text


@pytest.mark.parametrize(("path", "group"), LOCKS.items(), ids=map(str, LOCKS))
def test_a_lock_has_the_versions_of_the_project(path: str, group: str) -> None:
    assert _named(group).items() <= _locked(path).items()


def test_what_is_installed_together_has_the_same_versions() -> None:
    together = [file for name in ("product", "tests", "lab") for file in PARTS[name].files]
    found: dict[str, str] = {}
    for path in (*together, str(TORCH_CUDA), "scripts/install/requirements.txt"):
        for name, version in _locked(path).items():
            assert found.setdefault(name, version) == version, name
    assert not [name for path in together for name in _locked(path) if name == "torch" or name.startswith("nvidia-cu")]
    (cpu,), cuda = _locked(TORCH_CPU).values(), _locked(TORCH_CUDA)
    assert cpu == f"{cuda['torch']}+cpu"
    assert [f"hatchling=={_named('install')['hatchling']}"] == PROJECT["build-system"]["requires"]


def test_all_parts_are_locked_but_those_of_the_lab() -> None:
    locked = {file for part in PARTS.values() if part.locked for file in part.files}
    assert locked <= set(LOCKS)
    assert all(name.startswith("peers-") for name, part in PARTS.items() if not part.locked)


# In a checkout alone.
_TESTS = "client/tests/"


def _imported(package: str) -> set[str]:
    found = set()
    for path in (ROOT / package).rglob("*.py"):
        if str(path.relative_to(ROOT)).startswith(_TESTS):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
    return {name.partition(".")[0] for name in found} - sys.stdlib_module_names - {"frontend", "client", "scripts"}


def test_the_package_needs_all_that_it_imports() -> None:
    locked = _locked("frontend/requirements.txt").keys() | _pins(
        "\n".join(PROJECT["project"]["optional-dependencies"]["bulk"])
    )
    of_modules = importlib.metadata.packages_distributions()
    # Ray is in no environment of the tests.
    for module in (_imported("frontend") | _imported("client")) - {"ray"}:
        packages = {re.sub(r"[._-]+", "-", name).lower() for name in of_modules[module]}
        assert packages & locked, module


def test_a_wheel_names_what_it_needs_and_has_its_files(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("quartet-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        needed = email.message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])
    assert _pins("\n".join(line for line in needed if "extra ==" not in line)) == _named("")
    tracked = subprocess.run(
        ["git", "ls-files", "frontend", "client"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {name for name in tracked.stdout.split() if not name.startswith(_TESTS)} <= set(names)
    assert not any(name.startswith(_TESTS) for name in names)
