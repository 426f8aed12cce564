"""Every error a client can read.

    ApiError
    +-- InvalidRequest        400  invalid_request_error
    |   +-- NotFound          404
    |   +-- MethodNotAllowed  405
    +-- Unauthorized          401  invalid_api_key
    +-- UploadTimeout         408  request_timeout
    +-- TooLarge              413  request_too_large
    +-- UnsupportedMedia      415  unsupported_media_type
    +-- RateLimited           429  rate_limit_exceeded
    +-- InsufficientQuota     429  insufficient_quota
    +-- Internal              500  internal_error
    +-- BadGateway            502  bad_gateway
        +-- Unreached              the call did not arrive at a backend, so another can take it
        |   +-- Unloaded           the model is not loaded there
        +-- BrokenModel            a model whose process died
        +-- Late                   a backend that did not answer in time
        +-- BadAnswer              wrong tensors
        +-- Busy                   too many calls wait, or too much memory is in use
        +-- AccountRefused         a backend that refuses this service's own key or account

Messages are for users of the API. They have no paths and no texts of libraries or exceptions.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

# OpenAI's clients retry each 429 and 5xx without this. For what only a person can change, a wait would be lost.
_NO_RETRY = {"X-Should-Retry": "false"}


class ApiError(Exception):
    """An answer other than 200.

    ``param`` names the request's parameter. ``headers`` are added to the answer. ``reason`` labels refusals in the
    metrics that are not the caller's mistake.
    """

    status: ClassVar[int] = 500
    type: ClassVar[str] = "internal_error"
    reason: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        """The error body of the contract, with the two extra fields that OpenAI's clients read."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}


class InvalidRequest(ApiError):  # noqa: N818
    status, type = 400, "invalid_request_error"


class NotFound(InvalidRequest):
    status = 404


class MethodNotAllowed(InvalidRequest):
    status = 405


class Unauthorized(ApiError):  # noqa: N818
    status, type, reason = 401, "invalid_api_key", "auth"


class UploadTimeout(ApiError):  # noqa: N818
    status, type = 408, "request_timeout"


class TooLarge(ApiError):  # noqa: N818
    status, type, reason = 413, "request_too_large", "size"


class UnsupportedMedia(ApiError):  # noqa: N818
    status, type = 415, "unsupported_media_type"


class RateLimited(ApiError):  # noqa: N818
    status, type, reason = 429, "rate_limit_exceeded", "limit"


class InsufficientQuota(ApiError):  # noqa: N818
    status, type, reason = 429, "insufficient_quota", "balance"

    def __init__(self, message: str) -> None:
        super().__init__(message, code=self.type, headers=_NO_RETRY)


class Internal(ApiError):  # noqa: N818
    status, type = 500, "internal_error"


class BadGateway(ApiError):  # noqa: N818
    status, type = 502, "bad_gateway"

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_after)})


class Unreached(BadGateway):
    pass


class Unloaded(Unreached):
    pass


class BrokenModel(BadGateway):
    pass


class Late(BadGateway):
    pass


class BadAnswer(BadGateway):
    pass


class Busy(BadGateway):
    reason = "queue"


class AccountRefused(BadGateway):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.headers = dict(_NO_RETRY)
