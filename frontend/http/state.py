"""The state of this process: whether it stops, and counts of all workers."""

from dataclasses import dataclass

from aiohttp import web

from frontend.processes.worker import SharedStatus


@dataclass
class ServerState:
    """State that connections, readiness and metrics read."""

    # Whether each answer closes its connection.
    closing: bool = False
    # Whether callers must go elsewhere. A replaced worker never sets it: its successor answers for both.
    stopping: bool = False
    # The parent's counts of all workers.
    workers: SharedStatus | None = None


SERVER_STATE = web.AppKey("server_state", ServerState)
