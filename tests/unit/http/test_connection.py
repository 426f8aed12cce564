"""Nothing of ours uses a private name of aiohttp, or changes one of its values."""

import ast
import asyncio
import inspect
from collections.abc import Iterator

import aiohttp
import pytest
from aiohttp import web

from frontend.http.connection import Connection
from tests.conftest import ROOT

MODULES = sorted((ROOT / "frontend").rglob("*.py"))
# The private names of the classes whose objects we get from aiohttp, or that ours are made from.
_KINDS = (web.Application, web.AppRunner, web.Request, web.RequestHandler, web.Server, web.WebSocketResponse)
_NAMES = web.Request.ATTRS | {
    name for kind in _KINDS for each in kind.__mro__ for name in (*vars(each), *getattr(each, "__slots__", ()))
}
_PRIVATE = {name for name in _NAMES if name.startswith("_") and not name.startswith("__")}


def _of_aiohttp(tree: ast.Module) -> set[str]:
    """The names that a module imports from aiohttp, and ``aiohttp`` itself."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = {name.asname or name.name for node in imports for name in node.names if _is_aiohttp(node.module)}
    return own | {"aiohttp"}


def _is_aiohttp(module: str | None) -> bool:
    return (module or "").split(".")[0] == "aiohttp"


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _own(node: ast.ClassDef) -> set[str]:
    """The private names that a class gives its objects in its methods."""
    stored = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)]
    return {each.attr for each in stored} | {each.name for each in node.body if hasattr(each, "name")}


def _used(node: ast.ClassDef) -> set[str]:
    """The names of ``self`` that a class uses."""
    return {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and _root(each) == "self"}


def _uses(tree: ast.Module) -> Iterator[str]:
    names = _of_aiohttp(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _is_aiohttp(node.module):
            parts = [*(node.module or "").split("."), *(name.name for name in node.names)]
            yield from (part for part in parts if part.startswith("_"))
        elif isinstance(node, ast.ClassDef) and {_root(base) for base in node.bases} & names:
            # A name of ours that is also one of aiohttp's would replace it.
            yield from _own(node) & _PRIVATE
            yield from _used(node) & _PRIVATE - _own(node)
        elif isinstance(node, ast.Attribute) and _root(node.value) != "self" and node.attr in _PRIVATE:
            yield node.attr
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _root(node.value) in names:
            yield ast.unparse(node)


def test_no_module_uses_a_private_name_of_aiohttp_or_changes_its_values() -> None:
    found = {path: sorted(_uses(ast.parse(path.read_text(encoding="utf-8")))) for path in MODULES}
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from aiohttp import web_ws\nweb_ws.DEFAULT_CHUNK_SIZE = 1",
        "from aiohttp._websocket import reader",
        "request._task",
        "from aiohttp import web\nclass A(web.RequestHandler):\n    def f(self):\n        return self._messages",
        "from aiohttp import web\nclass A(web.RequestHandler):\n    def f(self):\n        self._waiter = 1",
    ],
)
def test_such_a_use_is_found(source: str) -> None:
    assert list(_uses(ast.parse(source)))


async def test_aiohttp_has_the_methods_that_connections_override() -> None:
    ours = {name for name, each in vars(Connection).items() if inspect.isfunction(each) and not name.startswith("_")}
    added = {"begin"}
    assert {name for name in ours - added if not callable(getattr(web.RequestHandler, name, None))} == set()
    fresh = web.RequestHandler(web.Server(_never), loop=asyncio.get_running_loop())
    assert not hasattr(fresh, "begin"), aiohttp.__version__


async def _never(request: web.BaseRequest) -> web.StreamResponse:
    raise AssertionError
