"""What the line of a request, its metrics and its span say of its end."""

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from frontend.app_keys import RINGS, TRACER
from frontend.http.connection import break_off
from frontend.middleware.access_log import access_log_middleware
from frontend.middleware.errors import errors_middleware
from frontend.observe.tracing import Attributes, Tracer
from tests.eventually import until
from tests.http.calls import logged
from tests.raw import answer as read_answer
from tests.raw import connection, head
from tests.samples import Change
from tests.serving import serving


class _Noted(Tracer):
    """Keeps what is noted of requests, and whether they failed."""

    def __init__(self) -> None:
        self.spans: list[tuple[Attributes, bool]] = []

    def note(self, attributes: Attributes, *, failed: bool) -> None:
        self.spans.append((attributes, failed))


async def _hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


async def _begin_and_fail(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    break_off(request, failed=True)
    raise ConnectionResetError


def _raises(error: Callable[[], Exception]) -> Callable[[web.Request], Any]:
    async def fail(request: web.Request) -> web.Response:
        raise error()

    return fail


@pytest.mark.parametrize(
    ("handler", "status", "outcome", "failed"),
    [
        (_hello, 200, "ok", False),
        (_raises(web.HTTPBadRequest), 400, "refused", False),
        (_raises(RuntimeError), 500, "failed", True),
        (_begin_and_fail, 500, "failed", True),
    ],
    ids=["an answer", "a refusal", "a fault", "an answer that breaks off"],
)
async def test_a_request_ends_once_with_its_status_size_and_time(
    handler: Any, status: int, outcome: str, failed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "quartet")
    tracer, began = _Noted(), time.monotonic()
    counted = Change("quartet_request_seconds_count", operation="other", tier="none", outcome=outcome)
    parts: dict[web.AppKey[Any], Any] = {RINGS: [], TRACER: tracer}
    async with (
        serving(handler, middlewares=[access_log_middleware, errors_middleware], parts=parts) as port,
        connection(port) as (reader, writer),
    ):
        writer.write(head("GET", "/known"))
        size = len((await read_answer(reader)).body) if handler is not _begin_and_fail else None
        await until(lambda: logged(caplog))
    (line,) = logged(caplog)
    assert (line["status"], line["tier"], line["key"], line["org"]) == (status, "none", None, None)
    assert size in (None, line["bytes_out"])
    assert 0 <= line["seconds"] <= time.monotonic() - began
    assert counted.by == 1
    ((noted, is_failed),) = tracer.spans
    assert (noted["status"], is_failed) == (status, failed)
