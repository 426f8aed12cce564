"""The state of this process that connections, readiness and metrics read."""

from dataclasses import dataclass

from aiohttp import web


@dataclass
class ServerState:
    # Whether callers must go elsewhere, and each answer closes its connection.
    closing: bool = False


SERVER_STATE = web.AppKey("server_state", ServerState)
