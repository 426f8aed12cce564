import pytest
from aiohttp import web

from frontend.app_keys import PATHS
from frontend.catalogue.endpoints import Paths
from frontend.middleware.errors import errors_middleware
from frontend.middleware.query import query_middleware
from tests.raw import ask, head
from tests.serving import serving


async def _hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


@pytest.mark.parametrize(
    ("query", "param", "message"),
    [
        ("a=1", None, ""),
        ("a=1&b=", None, ""),
        ("a=1&a=1", "a", "parameter given twice: a"),
        ("b=1&a&a=2", "a", "parameter given twice: a"),
        ("b=1&c=1", "c", "unknown parameter: c"),
    ],
)
async def test_a_route_takes_each_of_its_query_parameters_once(query: str, param: str | None, message: str) -> None:
    parts = {PATHS: Paths(queries={"/known": ("a", "b")})}
    async with serving(_hello, middlewares=[errors_middleware, query_middleware], parts=parts) as port:
        answer = await ask(port, head("GET", f"/known?{query}"))
    assert answer.status == (200 if param is None else 400)
    assert param is None or (answer.error["param"], answer.error["message"]) == (param, message)
