"""What the contract says of an answer that refuses a request."""

import json

from tests.raw import Answer

TYPES = {
    400: {"invalid_request_error"},
    401: {"invalid_api_key"},
    404: {"invalid_request_error"},
    405: {"invalid_request_error"},
    408: {"request_timeout"},
    413: {"request_too_large"},
    415: {"unsupported_media_type"},
    429: {"rate_limit_exceeded", "insufficient_quota"},
    502: {"bad_gateway"},
}
# Words that would reveal internals: paths, libraries, stacks.
TELLING = ("/home", "/usr", "/tmp", "/work", "packages", "Traceback", "Errno", "av.error", "ffmpeg", "aiohttp", "0x")


def fault_of(answer: Answer) -> str:
    """What is wrong with the form of a refusal; empty if nothing is."""
    if answer.status not in TYPES:
        return f"the status {answer.status}"
    if answer.headers.get("content-type") != "application/json" or not answer.headers.get("x-request-id"):
        return f"the headers {answer.headers}"
    try:
        body = json.loads(answer.body)
        error, keys = body["error"], set(body)
    except (ValueError, TypeError, KeyError):
        return f"the body {answer.body[:200]!r}"
    if keys != {"error"} or set(error) != {"message", "type", "param", "code"}:
        return f"the body {answer.body[:200]!r}"
    if error["type"] not in TYPES[answer.status] or not isinstance(error["message"], str):
        return f"the type or the message of {error}"
    told = [word for word in TELLING if word in error["message"]]
    return f"the message, which tells {told}" if told else ""
