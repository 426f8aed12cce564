"""Imports point one way, as the architecture says, and every module can be imported alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

# From the ground up: a module may import from its own layer's files listed before it, and from lower layers.
LAYERS = [
    {"errors", "prices"},
    {"config_tables", "config", "observe"},
    {"logs"},
    {"shared_memory"},
    {"audio", "text", "offload", "gather", "fields", "background", "pauses", "schemas", "debts"},
    {"database", "dispatch"},
    {"triton", "http"},
    {"access"},
    {"usage"},
    {"packed_model"},
    {"operations.protocol", "operations.languages", "operations.voices", "operations.metering"},
    {"operations.pipeline", "operations.openapi"},
    {"keys"},
    {"operations.handler", "middleware", "pages"},
    {"app", "server", "workers", "commands"},
    {"__main__"},
]
MODULES = sorted((ROOT / "frontend").rglob("*.py"))


def _layer(parts: tuple[str, ...]) -> int:
    name = f"operations.{parts[2]}" if parts[0] == "operations" and len(parts) > 2 else parts[0]
    return next(level for level, names in enumerate(LAYERS) if name in names)


def _imports(path: Path) -> set[tuple[str, ...]]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "frontend":
            base = tuple((node.module or "").split("."))[1:]
            for alias in node.names:
                deeper = ROOT.joinpath("frontend", *base, f"{alias.name}.py")
                found.add((*base, alias.name) if deeper.exists() else base)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    parts = path.relative_to(ROOT / "frontend").with_suffix("").parts
    if parts[-1] == "__init__":
        assert _imports(path) == set()
        return
    for imported in _imports(path):
        same_folder = imported[:-1] == parts[:-1]
        assert _layer(imported) < _layer(parts) or (same_folder and _layer(imported) == _layer(parts)), imported


def test_rooms_of_operations_do_not_import_each_other() -> None:
    for path in (ROOT / "frontend" / "operations").rglob("*.py"):
        room = path.relative_to(ROOT / "frontend" / "operations").parts[0]
        for imported in _imports(path):
            assert imported[0] != "operations" or imported[1] == room, (path, imported)


def test_only_one_module_speaks_to_triton() -> None:
    users = {p.name for p in MODULES if "import tritonclient" in p.read_text(encoding="utf-8")}
    assert users == {"triton.py"}


@pytest.mark.parametrize("module", ["frontend.audio.decode", "frontend.text.tokens", "frontend.errors"])
def test_a_pure_module_is_imported_without_the_web_framework(module: str) -> None:
    code = f"import sys, {module}; sys.exit('aiohttp' in sys.modules or 'tritonclient' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
