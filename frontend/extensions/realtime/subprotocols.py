"""The API key of a browser, which can send no header with a WebSocket: one of the protocols that it offers."""

from collections.abc import Sequence

from aiohttp import hdrs
from multidict import CIMultiDictProxy

from frontend.access.caller import bearer_token

REALTIME = "realtime"
_KEY = "openai-insecure-api-key."


def offered(headers: "CIMultiDictProxy[str]") -> Sequence[str]:
    """The protocols that the client offers."""
    names = ",".join(headers.getall(hdrs.SEC_WEBSOCKET_PROTOCOL, [])).split(",")
    return [name.strip() for name in names if name.strip()]


def key_of(headers: "CIMultiDictProxy[str]") -> str:
    """The key in the header, or else the one among the protocols; empty without one or with several."""
    if sent := headers.getall(hdrs.AUTHORIZATION, []):
        return bearer_token(sent)
    keys = [name.removeprefix(_KEY) for name in offered(headers) if name.startswith(_KEY)]
    return keys[0] if len(keys) == 1 else ""
