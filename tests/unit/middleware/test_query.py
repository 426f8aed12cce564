import pytest
from aiohttp import web

from frontend.middleware.errors import errors_middleware
from frontend.middleware.query import query_middleware
from tests.raw import Answer, ask, head
from tests.serving import serving


async def _hello(request: web.Request) -> web.Response:
    return web.Response()


async def _get(path: str) -> Answer:
    """The answer where ``/known`` takes ``a`` and ``b``."""
    async with serving(_hello, middlewares=[errors_middleware, query_middleware({"/known": ("a", "b")})]) as port:
        return await ask(port, head("GET", path))


async def test_what_a_path_takes_is_taken() -> None:
    assert (await _get("/known?a=1&b=")).status == 200


@pytest.mark.parametrize(
    ("path", "param"), [("/known?a=1&a=1", "a"), ("/known?a=1&user=me&x", "user"), ("/known/x?a=1", "a")]
)
async def test_what_is_given_twice_or_not_taken_is_named(path: str, param: str) -> None:
    refusal = await _get(path)
    assert (refusal.status, refusal.error["param"]) == (400, param)


@pytest.mark.parametrize("query", ["=x", "%ff=1", "%00", "a" * 5000])
async def test_a_parameter_of_any_name_is_400(query: str) -> None:
    assert (await _get(f"/known?{query}")).status == 400


async def test_a_path_that_is_none_is_404_whatever_its_query() -> None:
    assert (await _get("/unknown?x=1")).status == 404
