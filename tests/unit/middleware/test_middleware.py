import pytest
from aiohttp import web
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from frontend.access.caller import Caller
from frontend.administration.names import MissingError, RegistryError
from frontend.app_keys import HEADERS, RINGS
from frontend.errors import InsufficientQuota
from frontend.middleware.access_log import access_log_middleware
from frontend.middleware.context import context_of
from frontend.middleware.headers import add_headers
from frontend.observe.logs import request_id
from tests.raw import Answer, ask, head
from tests.serving import serving

_OWNERS = {"org:acme", "key:4f", "org:None"}


@pytest.mark.parametrize(
    ("caller", "owner"),
    [
        (Caller("1", "search", org="acme"), "org:acme"),
        (Caller("4f", "search", org="acme"), "key:4f"),
        (Caller("1", "acme"), None),
        (Caller("1", "org:acme"), None),
        (Caller("acme", "key:4f", org="zenith"), None),
        (Caller("1", "search"), None),
        (Caller("4f", "search", tier="bulk", org="acme"), None),
    ],
)
async def test_a_floor_belongs_to_an_id_and_not_to_a_name(caller: Caller, owner: str | None) -> None:
    assert context_of(caller, _OWNERS, 1).owner == owner


async def test_a_context_ends_at_its_deadline() -> None:
    deadlines = [context_of(Caller("1", "a"), (), seconds).deadline for seconds in (1, 5)]
    assert deadlines[1] - deadlines[0] == pytest.approx(4, abs=0.5)


@pytest.mark.parametrize(("tier", "priority"), [("company", 1), ("pro", 2), ("free", 3), ("bulk", 4)])
async def test_the_order_of_tiers_is_company_pro_free_bulk(tier: str, priority: int) -> None:
    assert context_of(Caller("1", "a", tier=tier), (), 1).priority == priority


@pytest.mark.parametrize(
    ("error", "status", "type"),
    [
        (InsufficientQuota("spent"), 429, "insufficient_quota"),
        (web.HTTPRequestEntityTooLarge(1, 2), 413, "request_too_large"),
        (web.HTTPBadRequest(), 400, "invalid_request_error"),
        (web.HTTPServiceUnavailable(), 500, "internal_error"),
        (MissingError("no such key"), 404, "invalid_request_error"),
        (RegistryError("no such tier"), 400, "invalid_request_error"),
        (OperationalError("SELECT secret", {}, Exception("secret")), 502, "bad_gateway"),
        (TimeoutError("secret"), 500, "internal_error"),
        (ConnectionError("secret"), 500, "internal_error"),
        (RuntimeError("secret"), 500, "internal_error"),
    ],
)
async def test_an_exception_is_answered_in_the_contracts_shape(error: Exception, status: int, type: str) -> None:
    async def fail(request: web.Request) -> web.Response:
        raise error

    async with serving(fail) as port:
        answer = await ask(port, head("GET", "/known"))
    assert (answer.status, answer.error["type"]) == (status, type)
    assert b"secret" not in answer.body


@pytest.mark.parametrize(
    ("error", "details"), [(SQLAlchemyError("locked"), "locked"), (SQLAlchemyError(""), "SQLAlchemyError")]
)
async def test_the_log_has_what_the_database_says(
    error: Exception, details: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(request: web.Request) -> web.Response:
        raise error

    async with serving(fail) as port:
        assert (await ask(port, head("GET", "/known"))).status == 502
    assert [record.fields for record in caplog.records] == [{"details": details}]  # type: ignore[attr-defined]


async def test_a_redirection_is_no_error() -> None:
    async def redirect(request: web.Request) -> web.Response:
        raise web.HTTPFound("/known/a")

    async with serving(redirect) as port:
        assert (await ask(port, head("GET", "/known"))).status == 302


async def _hello(request: web.Request) -> web.StreamResponse:
    request[HEADERS]["X-Limit"] = "5"
    answer = web.Response(text=request_id.get())
    await add_headers(request, answer)
    return answer


async def _get(path: str, *lines: str) -> Answer:
    async with serving(_hello, middlewares=[access_log_middleware], parts={RINGS: []}) as port:
        return await ask(port, head("GET", path, *lines))


@pytest.mark.parametrize("given", ["abc-1.2_3", "x" * 128])
async def test_a_well_formed_request_id_is_kept(given: str) -> None:
    answer = await _get("/known", f"X-Request-Id: {given}")
    assert (answer.headers["x-request-id"], answer.body) == (given, given.encode())


@pytest.mark.parametrize("given", ["", "with space", "x" * 129, "ü"])
async def test_another_request_id_is_replaced(given: str) -> None:
    answer = await _get("/known", f"X-Request-Id: {given}")
    assert answer.status == 200
    assert answer.headers["x-request-id"] not in ("", given)
