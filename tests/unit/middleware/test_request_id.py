import pytest
from aiohttp import web

from frontend.middleware.request_id import HEADERS, add_headers, request_id_middleware
from frontend.observe.logs import request_id
from tests.raw import Answer, ask, head
from tests.serving import serving


async def _hello(request: web.Request) -> web.StreamResponse:
    request[HEADERS]["X-Limit"] = "5"
    answer = web.Response(text=request_id.get())
    await add_headers(request, answer)
    return answer


async def _get(path: str, *lines: str) -> Answer:
    async with serving(_hello, middlewares=[request_id_middleware]) as port:
        return await ask(port, head("GET", path, *lines))


@pytest.mark.parametrize("given", ["abc-1.2_3", "x" * 128])
async def test_a_well_formed_request_id_is_kept(given: str) -> None:
    answer = await _get("/known", f"X-Request-Id: {given}")
    assert (answer.headers["x-request-id"], answer.body) == (given, given.encode())


@pytest.mark.parametrize("given", ["", "with space", "x" * 129, "ü"])
async def test_another_request_id_is_replaced(given: str) -> None:
    assert (await _get("/known", f"X-Request-Id: {given}")).headers["x-request-id"] not in ("", given)
