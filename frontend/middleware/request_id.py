"""Every response carries ``X-Request-Id``: the caller's own where it is well formed, else a new one."""

import re
import time
import uuid

from aiohttp import web
from aiohttp.helpers import must_be_empty_body
from aiohttp.typedefs import Handler

from frontend.app_keys import CALLER, OUTCOMES, TRACER
from frontend.catalogue.endpoints import API_KEY, auth_of, operation_of
from frontend.http.connection import has_hung_up
from frontend.http.rendering import SERVER
from frontend.observe.logs import log, request_id
from frontend.observe.metrics import ANSWER_BYTES, BODY_BYTES, REQUEST_SECONDS, REQUESTS, REQUESTS_IN_FLIGHT
from frontend.observe.record import Record, begin
from frontend.observe.tracing import OFF
from frontend.usage.outcomes import Outcome

HEADER = "X-Request-Id"
# Of the W3C's Trace Context.
_TRACEPARENT = "traceparent"
# What other middlewares want on the answer, whatever it will be.
HEADERS = web.RequestKey("headers", dict[str, str])
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,128}")
# What the log and the metrics call a request whose caller left, as nginx does, and one that the service broke off.
_HUNG_UP = 499
_BROKEN_OFF = 500
# Reasons of refusals that a request is not at fault for.
_COME_AGAIN = ("limit", "balance", "queue")


@web.middleware
async def request_id_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Outermost: names the request, and writes its access line when it has ended, answered or not."""
    given = request.headers.get(HEADER, "")
    name = given if _WELL_FORMED.fullmatch(given) else uuid.uuid4().hex
    request_id.set(name)
    request[HEADERS] = {HEADER: name}
    tracer, response = request.app.get(TRACER, OFF), None
    record, started = begin(tracer), time.monotonic()
    with (
        REQUESTS_IN_FLIGHT.labels(operation_of(request.path)).track_inprogress(),
        tracer.request(" ".join(_route(request)), request.headers.get(_TRACEPARENT, "")) as record.trace_id,
    ):
        try:
            response = await handler(request)
            return response
        finally:
            _note(request, response, record, time.monotonic() - started)


def _route(request: web.Request) -> tuple[str, str]:
    """Method and path as they are registered.

    Those that do not exist are the client's own words: as labels they would grow without bound. A key may be named in a
    path by all of it, which is not for the log.
    """
    resource = request.match_info.route.resource
    return (request.method, resource.canonical) if resource is not None else ("other", "other")


def _status(request: web.Request, response: web.StreamResponse | None) -> int:
    """That of the answer, or what it came to where the caller did not get one."""
    if response is not None and (response.prepared or not has_hung_up(request)):
        return response.status
    return _HUNG_UP if has_hung_up(request) else _BROKEN_OFF


def _note(request: web.Request, response: web.StreamResponse | None, record: Record, seconds: float) -> None:
    status, caller = _status(request, response), request.get(CALLER)
    method, route = _route(request)
    operation, tier = operation_of(request.path), caller.tier if caller is not None else "none"
    came, went = request.content.total_bytes, _bytes_of(request, response)
    REQUESTS.labels(operation, route, method, status, tier).inc()
    REQUEST_SECONDS.labels(operation, tier, _outcome(status)).observe(seconds)
    BODY_BYTES.labels(operation).observe(came)
    ANSWER_BYTES.labels(operation).observe(went)
    # Whoever comes with a token has no page that would show it.
    if caller is not None and operation != "other" and auth_of(request.path) == API_KEY:
        request.app[OUTCOMES].count(caller, operation, _ending(status, record.refused_for), seconds)
    fields = {
        "method": method,
        "route": route,
        "status": status,
        "key": caller.id if caller is not None else None,
        "org": caller.org if caller is not None else None,
        "tier": tier,
        "model": record.model or None,
        "quantity": record.quantity,
        "bytes_in": came,
        "bytes_out": went,
        "queue_seconds": round(record.queue.seconds, 4),
        "backend_seconds": round(record.backend.seconds, 4),
        "seconds": round(seconds, 4),
    }
    log.info("request", extra={"fields": fields})
    record.tracer.note({"request_id": request_id.get(), **fields}, failed=status >= 500)


def _outcome(status: int) -> str:
    if status == _HUNG_UP:
        return "hung_up"
    return "failed" if status >= 500 else "refused" if status >= 400 else "ok"


def _ending(status: int, refused_for: str) -> Outcome:
    """What a caller has of it: who was only asked to come again has made no mistake."""
    if status == _HUNG_UP:
        return "hung_up"
    if refused_for in _COME_AGAIN:
        return "refused"
    return "failed" if status >= 500 else "mistaken" if status >= 400 else "answered"


def _bytes_of(request: web.Request, response: web.StreamResponse | None) -> int:
    """What went out, or goes out as soon as the middlewares have ended."""
    if response is None or response.prepared:
        return request.writer.output_size
    if must_be_empty_body(request.method, response.status):
        return 0
    return len(response.body) if isinstance(response, web.Response) and isinstance(response.body, bytes) else 0


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Before an answer's first byte goes out, a streamed one's too."""
    response.headers.update(request.get(HEADERS, {}))
    response.headers["Server"] = SERVER
