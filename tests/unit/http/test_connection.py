"""The private names of aiohttp that connections use, and that no other module uses any."""

import ast
import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from frontend.extensions.realtime.wire import Socket
from frontend.http import connection, runner
from tests.conftest import ROOT

PRIVATE = {"_buffer_paused", "_current_request", "_messages"}
# Methods that our class overrides.
METHODS = """
    connection_lost connection_made data_received eof_received finish_response handle_error pause_reading resume_reading
    shutdown
"""
MODULES = sorted((ROOT / "frontend").rglob("*.py"))
OURS, RUNNER = (Path(inspect.getfile(module)) for module in (connection, runner))
# The private names of aiohttp's connections, servers and runners.
_KINDS = [*web.RequestHandler.__mro__, *web.Server.__mro__, *web.AppRunner.__mro__]
_NAMES = {name for kind in _KINDS for name in (*vars(kind), *getattr(kind, "__slots__", ()))}
_INSIDE = {name for name in _NAMES if name.startswith("_") and not name.startswith("__")}


async def _never(request: web.BaseRequest) -> web.StreamResponse:
    raise AssertionError


async def test_aiohttp_has_the_used_names() -> None:
    fresh = web.RequestHandler(web.Server(_never), loop=asyncio.get_running_loop())
    assert [name for name in METHODS.split() if not callable(getattr(fresh, name, None))] == []
    assert [name for name in PRIVATE if not hasattr(fresh, name)] == []


def _names(path: Path) -> set[str]:
    """The names of attributes, functions and imports of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return used | {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names}


@pytest.mark.parametrize(("path", "private"), [(OURS, PRIVATE), (RUNNER, set())], ids=["connection", "runner"])
def test_the_used_private_names_are_listed_here(path: Path, private: set[str]) -> None:
    # Our own names must not be private names of aiohttp by accident.
    assert _names(path) & _INSIDE == private


def _private_uses(tree: ast.Module) -> Iterator[str]:
    """A module's uses of aiohttp's private names, and its subclasses of aiohttp's classes."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {name.name for node in imports for name in node.names if (node.module or "").split(".")[0] == "aiohttp"}
    yield from (name for name in names if name.startswith("_"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            roots = {part.id for base in node.bases for part in ast.walk(base) if isinstance(part, ast.Name)}
            yield from (f"class {node.name}" for _ in roots & names)
        elif isinstance(node, ast.Attribute) and node.attr in _INSIDE and ast.unparse(node.value) != "self":
            yield node.attr


def test_no_other_module_uses_private_names_of_aiohttp() -> None:
    found = {path: list(_private_uses(ast.parse(path.read_text(encoding="utf-8")))) for path in MODULES}
    for path in (OURS, RUNNER, Path(inspect.getfile(Socket))):
        assert found.pop(path)
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {}


async def test_the_socket_of_a_live_session_uses_no_private_name_of_aiohttp() -> None:
    fresh = web.WebSocketResponse()
    inside = {name for name in (*dir(fresh), *vars(fresh)) if name.startswith("_") and not name.startswith("__")}
    tree = ast.parse(inspect.getsource(Socket))
    assert inside & {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} == set()
