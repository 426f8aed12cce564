"""Names each request, and writes its access line, metrics and span when it ends."""

import re
import time
import uuid
from http import HTTPStatus

from aiohttp import web
from aiohttp.helpers import must_be_empty_body
from aiohttp.typedefs import Handler

from frontend.app_keys import CALLER, HEADERS, PATHS, RINGS, TRACER
from frontend.http.connection import has_disconnected
from frontend.observe.logs import log, request_id
from frontend.observe.metrics import ANSWER_BYTES, BODY_BYTES, REQUEST_SECONDS, REQUESTS, REQUESTS_IN_FLIGHT
from frontend.observe.record import Record, begin
from frontend.observe.tracing import OFF

_HEADER = "X-Request-Id"
# Header of W3C Trace Context.
_TRACEPARENT = "traceparent"
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,128}")
# Status in the log and metrics if the caller disconnected, as in nginx, and if the server aborted.
CLIENT_DISCONNECTED = 499
_BROKEN_OFF = 500


@web.middleware
async def access_log_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give the request its id, the caller's own if it is well formed, and note its end, with or without an answer."""
    sent = request.headers.get(_HEADER, "")
    name = sent if _WELL_FORMED.fullmatch(sent) else uuid.uuid4().hex
    request_id.set(name)
    request[HEADERS] = {_HEADER: name}
    tracer, response = request.app.get(TRACER, OFF), None
    record, started = begin(tracer), time.monotonic()
    operation = request.app[PATHS].operation_of(request.path)
    with (
        REQUESTS_IN_FLIGHT.labels(operation).track_inprogress(),
        tracer.request(" ".join(_route(request)), request.headers.get(_TRACEPARENT, "")) as record.trace_id,
    ):
        try:
            response = await handler(request)
            return response
        finally:
            _note(request, response, operation, record, time.monotonic() - started)


def _route(request: web.Request) -> tuple[str, str]:
    """Method and path as registered.

    Unregistered ones are the client's input and would create unlimited labels. A path may contain a whole key, which
    must not reach the log.
    """
    resource = request.match_info.route.resource
    return (request.method, resource.canonical) if resource is not None else ("other", "other")


def _status(request: web.Request, response: web.StreamResponse | None) -> int:
    """The answer's status, or the recorded outcome if the caller got no answer."""
    if response is not None and (response.prepared or not has_disconnected(request)):
        return response.status
    return CLIENT_DISCONNECTED if has_disconnected(request) else _BROKEN_OFF


def _note(
    request: web.Request, response: web.StreamResponse | None, operation: str, record: Record, seconds: float
) -> None:
    status, caller = _status(request, response), request.get(CALLER)
    method, route = _route(request)
    tier = caller.tier if caller is not None else "none"
    bytes_in, bytes_out = request.content.total_bytes, _bytes_of(request, response)
    REQUESTS.labels(operation, route, method, status, tier).inc()
    # A live session lasts as long as people speak, which is no time of an answer.
    time_of_answer = None if status == HTTPStatus.SWITCHING_PROTOCOLS else seconds
    if time_of_answer is not None:
        REQUEST_SECONDS.labels(operation, tier, _outcome(status)).observe(seconds)
    BODY_BYTES.labels(operation).observe(bytes_in)
    ANSWER_BYTES.labels(operation).observe(bytes_out)
    for ring in request.app[RINGS]:
        ring.ended(request, status, time_of_answer)
    fields = {
        "method": method,
        "route": route,
        "status": status,
        "key": caller.id if caller is not None else None,
        "org": caller.org if caller is not None else None,
        "tier": tier,
        "model": record.model or None,
        "quantity": record.quantity,
        "bytes_in": bytes_in,
        "bytes_out": bytes_out,
        "queue_seconds": round(record.queue.seconds, 4),
        "backend_seconds": round(record.backend.seconds, 4),
        "seconds": round(seconds, 4),
    }
    log.info("request", extra={"fields": fields})
    record.tracer.note({"request_id": request_id.get(), **fields}, failed=status >= 500)


def _outcome(status: int) -> str:
    if status == CLIENT_DISCONNECTED:
        return "hung_up"
    return "failed" if status >= 500 else "refused" if status >= 400 else "ok"


def _bytes_of(request: web.Request, response: web.StreamResponse | None) -> int:
    """Bytes sent, or to be sent after the middlewares."""
    if response is None or response.prepared:
        return request.writer.output_size
    if must_be_empty_body(request.method, response.status):
        return 0
    return len(response.body) if isinstance(response, web.Response) and isinstance(response.body, bytes) else 0
