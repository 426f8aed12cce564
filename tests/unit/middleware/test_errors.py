import pytest
from aiohttp import web
from sqlalchemy.exc import OperationalError

from frontend.access.names import MissingError, RegistryError
from frontend.errors import InsufficientQuota
from tests.raw import ask, head
from tests.serving import serving


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


async def test_a_redirection_is_no_error() -> None:
    async def redirect(request: web.Request) -> web.Response:
        raise web.HTTPFound("/known/a")

    async with serving(redirect) as port:
        assert (await ask(port, head("GET", "/known"))).status == 302
