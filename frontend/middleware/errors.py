"""Turns exceptions into answers."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import PATHS
from frontend.database.engine import is_failure
from frontend.errors import ApiError, BadGateway, Internal, InvalidRequest, MethodNotAllowed, NotFound, TooLarge
from frontend.http.arrival import refuse_faulty
from frontend.http.rendering import error_response
from frontend.observe.logs import log, request_id
from frontend.observe.metrics import REFUSALS
from frontend.observe.record import current

_OF_STATUS: dict[int, type[ApiError]] = {404: NotFound, 405: MethodNotAllowed, 413: TooLarge}


def _from_framework(error: web.HTTPException) -> ApiError:
    """Convert aiohttp's refusals to the contract's errors; 405 keeps its ``Allow``."""
    headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
    kind = _OF_STATUS.get(error.status, InvalidRequest if error.status < 500 else Internal)
    messages = {404: "there is no such path", 405: "this path does not take this method"}
    return kind(messages.get(error.status, "the request is malformed"), headers=headers)


def _unforeseen(error: Exception) -> ApiError:
    if is_failure(error):
        log.error("the database failed", extra={"fields": {"details": str(error) or type(error).__name__}})
        return BadGateway("the database is away for the moment, retry with backoff")
    log.exception("unforeseen error")
    return Internal(f"an internal error occurred; request id {request_id.get()}")


@web.middleware
async def errors_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Render every error. Details of unexpected ones go only to the log."""
    try:
        refuse_faulty(request)
        return await handler(request)
    except ApiError as error:
        failure = error.with_traceback(None)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        # The request refers to it: without the frames, no garbage collection is needed.
        failure = _from_framework(error.with_traceback(None))
    except Exception as error:
        gone = request.transport is None or request.transport.is_closing()
        if gone and isinstance(error, ConnectionError | TimeoutError):
            # The caller has disconnected, or the server closed the connection: there is nobody to answer.
            raise ConnectionResetError from error
        failure = _unforeseen(error)
    if failure.reason:
        current().refused_for = failure.reason
        REFUSALS.labels(request.app[PATHS].operation_of(request.path), failure.reason).inc()
    return error_response(failure)
