"""How far a process is on its way to its end."""

from aiohttp import web

from frontend.processes.group import Board


class ServerState:
    """What its connections and its readiness go by."""

    def __init__(self) -> None:
        # Whether each answer ends its connection.
        self.closing = False
        # Whether nobody is to send more; a worker that another has replaced leaves that to the other.
        self.stopping = False
        # Where the parent of several workers tells of them.
        self.board: Board | None = None


SERVER_STATE = web.AppKey("server_state", ServerState)
