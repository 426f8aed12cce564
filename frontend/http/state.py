"""The state of this process that connections, readiness and metrics read."""

from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class ServerState:
    # Whether callers must go elsewhere, and each answer closes its connection.
    closing: bool = False
    # How to end the requests that would not end by themselves, when the process does.
    leaving: set[Callable[[], None]] = field(default_factory=set)


SERVER_STATE = web.AppKey("server_state", ServerState)
