"""Process state: whether it is stopping, and the other workers."""

from aiohttp import web

from frontend.processes.worker import SharedStatus


class ServerState:
    """State that connections, readiness and metrics read."""

    def __init__(self) -> None:
        # Whether each answer closes its connection.
        self.closing = False
        # Whether callers must go elsewhere. A replaced worker never sets it: its successor answers for both.
        self.stopping = False
        # The parent's counts of all workers.
        self.workers: SharedStatus | None = None


SERVER_STATE = web.AppKey("server_state", ServerState)
