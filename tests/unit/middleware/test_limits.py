from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.access.caller import Caller
from frontend.app_keys import CALLER, LIMITER
from frontend.errors import RateLimited
from frontend.middleware.errors import errors_middleware
from frontend.middleware.limits import limits_middleware
from frontend.middleware.request_id import HEADERS, add_headers
from tests.raw import Answer, ask, head
from tests.serving import serving


class _Limiter:
    """Lets ``good`` pass; notes what was taken under."""

    def __init__(self, *, good: bool) -> None:
        self._good = good
        self.taken: list[str] = []

    async def take(self, caller: Caller, name: str) -> dict[str, str]:
        self.taken.append(name)
        if not self._good:
            raise RateLimited("too many", headers={"X-RateLimit-Limit": "5", "Retry-After": "7"})
        return {"X-RateLimit-Limit": "5"}


@web.middleware
async def _known(request: web.Request, handler: Handler) -> web.StreamResponse:
    request[CALLER], request[HEADERS] = Caller("1", "me"), {}
    answer = await handler(request)
    await add_headers(request, answer)
    return answer


async def _hello(request: web.Request) -> web.Response:
    return web.Response()


async def _get(path: str, *, good: bool = True, method: str = "GET") -> tuple[Answer, list[str]]:
    """The answer where ``/known`` has a limit, and what was taken under."""
    limiter = _Limiter(good=good)
    middlewares: list[Any] = [_known, errors_middleware, limits_middleware({"/known": "embeddings"})]
    async with serving(_hello, middlewares=middlewares, parts={LIMITER: cast(Any, limiter)}) as port:
        return await ask(port, head(method, path)), limiter.taken


@pytest.mark.parametrize(("good", "status"), [(True, 200), (False, 429)])
async def test_a_path_with_a_limit_tells_it_with_every_answer(good: bool, status: int) -> None:
    answer, taken = await _get("/known", good=good)
    assert (answer.status, answer.headers["x-ratelimit-limit"], taken) == (status, "5", ["embeddings"])


async def test_a_refusal_says_when_to_come_back() -> None:
    assert (await _get("/known", good=False))[0].headers["retry-after"] == "7"


@pytest.mark.parametrize(("path", "method"), [("/known/a", "GET"), ("/unknown", "GET"), ("/known", "DELETE")])
async def test_another_path_and_a_wrong_method_count_under_none(path: str, method: str) -> None:
    answer, taken = await _get(path, method=method)
    assert (taken, "x-ratelimit-limit" in answer.headers) == ([], False)
