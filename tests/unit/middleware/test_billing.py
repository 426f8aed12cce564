from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.access.caller import Caller
from frontend.app_keys import CALLER, CHARGES, MEMORY_BUDGET, SETTINGS
from frontend.config.settings import Settings
from frontend.http.memory import MemoryBudget
from frontend.middleware.billing import billing_middleware
from frontend.middleware.context import context_middleware
from frontend.middleware.errors import errors_middleware
from tests.raw import Answer, ask, head, post
from tests.serving import serving

_PREPAID = Caller("1", "a", org="acme", prepaid=True)


async def _hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


async def _fail(request: web.Request) -> web.Response:
    raise web.HTTPBadRequest


async def _ask(data: bytes, caller: Caller, handler: Handler = _hello) -> tuple[Answer, list[str]]:
    """The answer to a caller, and the wallets that were waited for."""
    asked: list[str] = []

    @web.middleware
    async def identify(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[CALLER] = caller
        return await handler(request)

    async def ready(org: str) -> None:
        asked.append(org)

    parts: dict[web.AppKey[Any], Any] = {
        SETTINGS: Settings(),
        MEMORY_BUDGET: MemoryBudget(1 << 20),
        CHARGES: SimpleNamespace(wallets=SimpleNamespace(ready=ready)),
    }
    middlewares = [errors_middleware, identify, context_middleware, billing_middleware]
    async with serving(handler, middlewares=middlewares, parts=parts) as port:
        return await ask(port, data), asked


@pytest.mark.parametrize(
    ("data", "caller", "waited_for"),
    [
        (post("/known", b"a"), _PREPAID, ["acme"]),
        (head("GET", "/known"), _PREPAID, []),
        (post("/known", b"a"), Caller("1", "a", org="acme"), []),
    ],
    ids=["prepaid", "without a body", "not prepaid"],
)
async def test_only_a_body_that_a_wallet_pays_for_waits_for_it(
    data: bytes, caller: Caller, waited_for: list[str]
) -> None:
    answer, asked = await _ask(data, caller)
    assert (answer.status, asked) == (200, waited_for)


async def test_a_refusal_of_aiohttp_is_answered_in_the_contracts_shape() -> None:
    answer, _ = await _ask(head("GET", "/known"), _PREPAID, _fail)
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")
