"""What is relied on of aiohttp's inside, and that no other modules rely on any of it."""

import ast
import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import aiohttp
from aiohttp import web, web_protocol

from frontend.http import connection, runner
from tests.conftest import ROOT

VERSION = "3.14.5"
# Called, or overridden to be called.
_OF_A_CONNECTION = """
    _pause_reading_for_buffer _resume_reading_if_drained _resume_transport_reading connection_lost connection_made
    data_received eof_received finish_response handle_error pause_writing resume_reading resume_writing shutdown
"""
METHODS = {"_make_server": web.AppRunner, **dict.fromkeys(_OF_A_CONNECTION.split(), web.RequestHandler)}
# Of a connection: set or read, with the values that a fresh one has where they are compared with.
ATTRIBUTES = {
    "_buffer_paused": False,
    "_lingering_time": 10.0,
    "_loop": ...,
    "_messages": ...,
    "_reading_paused": False,
    "_request_count": 0,
    "_waiter": None,
}
TYPES = {"_ErrInfo": web_protocol}
MODULES = sorted((ROOT / "frontend").rglob("*.py"))
THE_TWO = [Path(inspect.getfile(module)) for module in (connection, runner)]


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


# The private names of aiohttp's connections, servers and runners.
_KINDS = [*web.RequestHandler.__mro__, *web.Server.__mro__, *web.AppRunner.__mro__]
_INSIDE = {name for kind in _KINDS for name in (*vars(kind), *getattr(kind, "__slots__", ())) if _private(name)}


async def _never(request: web.BaseRequest) -> web.StreamResponse:
    raise AssertionError


def test_aiohttp_is_the_version_whose_inside_is_relied_on() -> None:
    assert aiohttp.__version__ == VERSION, (
        f"aiohttp is {aiohttp.__version__}, and http/connection.py was written for {VERSION}: read what became of each "
        "name here in its web_protocol.py and base_protocol.py, then put the version here"
    )


async def test_aiohttp_has_what_is_relied_on() -> None:
    fresh = web.RequestHandler(web.Server(_never), loop=asyncio.get_running_loop())
    gone = [name for name, kind in METHODS.items() if not callable(getattr(kind, name, None))]
    gone += [name for name, place in TYPES.items() if not hasattr(place, name)]
    gone += [name for name in ATTRIBUTES if not hasattr(fresh, name)]
    assert not gone, f"aiohttp has no {', '.join(gone)} any more, which is relied on"
    other = [name for name, value in ATTRIBUTES.items() if value is not ... and getattr(fresh, name) != value]
    assert not other, f"aiohttp begins with another value of {', '.join(other)} than is relied on"


def test_every_private_name_that_is_relied_on_is_named_here() -> None:
    tree = ast.parse("\n".join(path.read_text(encoding="utf-8") for path in THE_TWO))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    used |= {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names}
    # A name of ours that aiohttp has too would be one by accident.
    assert used & (_INSIDE | set(TYPES)) == {name for name in {*METHODS, *ATTRIBUTES, *TYPES} if _private(name)}


def _reaches_in(tree: ast.Module) -> Iterator[str]:
    """What a module takes of aiohttp's inside: private names, and classes that are derived from its own."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {name.name for node in imports for name in node.names if (node.module or "").split(".")[0] == "aiohttp"}
    yield from (name for name in names if _private(name))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            roots = {part.id for base in node.bases for part in ast.walk(base) if isinstance(part, ast.Name)}
            yield from (f"class {node.name}" for _ in roots & names)
        elif isinstance(node, ast.Attribute) and node.attr in _INSIDE and ast.unparse(node.value) != "self":
            yield node.attr


def test_no_other_module_reaches_into_aiohttp() -> None:
    found = {path: list(_reaches_in(ast.parse(path.read_text(encoding="utf-8")))) for path in MODULES}
    for path in THE_TWO:
        assert found.pop(path)
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {}
