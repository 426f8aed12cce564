"""``quartet serve``."""

import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from frontend.config.reading import PREFIX
from frontend.config.settings import Settings
from frontend.observe import METRICS_FOLDER
from frontend.processes.siblings import Death, Siblings
from frontend.processes.sockets import bind

if TYPE_CHECKING:
    from aiohttp import web


def _app(settings: Settings) -> "web.Application":
    from frontend.app import create_app

    return create_app(settings)


def serve(settings: Settings, create: Callable[[Settings], "web.Application"] = _app) -> int:
    """Serve until SIGTERM or SIGINT: in this process, or in several children of it. Returns the exit status."""
    for variable in [name for name in os.environ if name.startswith(PREFIX)]:
        # The settings are read. Processes that this one starts need no secrets.
        del os.environ[variable]
    for number in (signal.SIGTERM, signal.SIGINT):
        # Until the event loop has its own. Without one, the first process of a container ignores them.
        signal.signal(number, lambda *_: sys.exit(0))
    with ExitStack() as closing:
        sockets = bind(settings)
        for each in sockets:
            closing.enter_context(each)
        work = partial(_work, settings.for_one_worker(), sockets, create)
        if settings.workers > 1:
            # The parent stays in memory, so it has imported nothing of the server.
            return Siblings(settings.workers, sockets, work).run()
        # If another program has set it, there are no files of metrics in it.
        os.environ.pop(METRICS_FOLDER, None)
        return work(None)


def _work(
    settings: Settings,
    sockets: Sequence[socket.socket],
    create: Callable[[Settings], "web.Application"],
    death: Death | None,
) -> int:
    from frontend.commands.database import plain_errors
    from frontend.http.server import run
    from frontend.observe.logs import log, set_up_logging
    from frontend.observe.metrics import STARTED

    set_up_logging(settings.log_level, settings.log_format)
    if death is not None:
        fields = {"pid": death.pid, "code": death.code, "seconds": death.pause}
        log.error("a worker ended and is started again", extra={"fields": fields})
    STARTED.set_to_current_time()
    with plain_errors():
        return run(create(settings), settings, sockets)
