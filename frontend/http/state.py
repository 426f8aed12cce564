"""What a process tells of itself: whether it ends, and its fellow workers."""

from aiohttp import web

from frontend.processes.status import SharedStatus


class ServerState:
    """What connections, readiness and metrics go by."""

    def __init__(self) -> None:
        # Whether each answer ends its connection.
        self.closing = False
        # Whether nobody is to send more. A replaced worker never says so: its successor answers for both.
        self.stopping = False
        # The parent's counts of all workers.
        self.workers: SharedStatus | None = None


SERVER_STATE = web.AppKey("server_state", ServerState)
