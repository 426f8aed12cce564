"""Imports point one way, as the architecture says, so that every module can be imported first."""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

# From the ground up: a module imports from its own room and from those before it.
ORDER = [
    "errors",
    "catalogue",
    "parameters",
    "config",
    "observe",
    "concurrency",
    "processes",
    "audio",
    "text",
    "database",
    "peers",
    "tritons",
    "dispatch",
    "discovery",
    "access",
    "billing",
    "http",
    "operations.packed_model",
    "operations.protocols",
    "operations.pipelines",
    "rings",
    "app_keys",
    "operations.batches",
    "operations.handlers",
    "middleware",
    "parts",
    "app",
    "commands",
    "__main__",
]
# What clients of the API share with the server: what is offered, and how this machine is asked.
SHARED = {
    "frontend.catalogue.models",
    "frontend.catalogue.voices",
    "frontend.commands.tables",
    "frontend.config.proxies",
    "frontend.text.tokens",
}
# What stands around the core, each in a folder of its own: the core works without it.
RINGS = ("reading", "sharing", "extensions", "administration", "pages")
# The files of an operation, which are those of its folder in this order.
OF_AN_OPERATION = {
    "pipeline": "pipelines",
    "openapi": "pipelines",
    "handler": "handlers",
}
FRONTEND = ROOT / "frontend"
MODULES = sorted(path for path in FRONTEND.rglob("*.py") if path.name != "__init__.py")
CORE = [path for path in MODULES if path.relative_to(FRONTEND).parts[0] not in RINGS]


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _place(module: str) -> int:
    """The module's room, by its number in the order."""
    _, room, *rest = module.split(".")
    if room == "administration":
        room = {"api": "pages", "commands": "commands"}.get(rest[0], "access")
    if room in ("operations", "extensions"):
        room = (
            "operations.handlers"
            if rest[0] == "status"
            else f"operations.{rest[0] if len(rest) == 1 else OF_AN_OPERATION.get(rest[1], 'protocols')}"
        )
    return ORDER.index(room)


def _imports(path: Path, of: str = "frontend") -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == of:
            base = ROOT.joinpath(*str(node.module).split("."))
            for alias in node.names:
                found.add(f"{node.module}.{alias.name}" if (base / f"{alias.name}.py").exists() else str(node.module))
    return found


@pytest.mark.parametrize("path", CORE, ids=_name)
def test_a_module_imports_from_its_own_room_and_those_before_it(path: Path) -> None:
    assert not {name for name in _imports(path) if _place(name) > _place(_name(path))}


def test_the_core_imports_no_ring() -> None:
    rings = tuple(f"frontend.{ring}." for ring in RINGS)
    assert not {(str(path), name) for path in CORE for name in _imports(path) if f"{name}.".startswith(rings)}


def test_rings_do_not_import_each_other() -> None:
    for ring in RINGS:
        imported = {name.split(".")[1] for path in (FRONTEND / ring).rglob("*.py") for name in _imports(path)}
        assert not imported & {*RINGS} - {ring}


def test_clients_import_no_more_of_the_server_than_both_share_and_the_server_nothing_of_them() -> None:
    clients = [path for path in (ROOT / "client").rglob("*.py") if "tests" not in path.parts]
    assert {name for path in clients for name in _imports(path)} == SHARED
    assert not {name for path in MODULES for name in _imports(path, "client")}


def test_no_module_imports_itself_by_way_of_others() -> None:
    graphlib.TopologicalSorter({_name(path): _imports(path) for path in MODULES}).prepare()


def test_packages_import_nothing() -> None:
    assert not {str(path) for path in FRONTEND.rglob("__init__.py") if _imports(path)}


def test_rooms_of_operations_do_not_import_each_other() -> None:
    for path in (FRONTEND / "operations").glob("*/*.py"):
        others = {name for name in _imports(path) if name.count(".") == 3 and name.split(".")[1] == "operations"}
        assert all(name.split(".")[2] == path.parent.name for name in others), path


def test_only_one_module_speaks_to_triton() -> None:
    users = {p.name for p in MODULES if "import tritonclient" in p.read_text(encoding="utf-8")}
    assert users == {"triton.py"}


@pytest.mark.parametrize("library", ["redis", "alembic"])
def test_what_most_frontends_do_not_need_is_not_imported_by_their_start(library: str) -> None:
    users = {
        path for path in MODULES if re.search(rf"^(from|import) {library}\b", path.read_text(encoding="utf-8"), re.M)
    }
    assert not {path for path in users if path.parent.name not in ("commands", "migrations", "versions")}


@pytest.mark.parametrize("folder", ["frontend", "scripts", "tests", "model_repository", "docker"])
def test_nothing_but_the_lab_itself_imports_from_the_lab(folder: str) -> None:
    users = [
        path
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"^\s*(from|import) lab\b", path.read_text("utf-8"), re.M)
    ]
    assert users == []


@pytest.mark.parametrize("module", ["frontend.audio.decode", "frontend.text.tokens", "frontend.errors"])
def test_a_pure_module_is_imported_without_the_web_framework(module: str) -> None:
    code = f"import sys, {module}; sys.exit('aiohttp' in sys.modules or 'tritonclient' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
