"""The sockets that all workers accept from."""

import errno
import socket
import time

from frontend.config.reading import PREFIX, SettingsError
from frontend.config.settings import Settings

_TRIES, _TRY_SECONDS = 10, 0.1
# What cannot change while they are open.
_FIXED = ("host", "port", "admin_host", "admin_port")


class Sockets:
    """Bound but not listening: callers are refused until the first worker accepts. ``OSError`` for a taken port."""

    def __init__(self, settings: Settings) -> None:
        self._bound = [_bound(settings.host, settings.port)]
        if settings.admin_port:
            try:
                self._bound.append(_bound(settings.admin_host, settings.admin_port))
            except OSError:
                self.close()
                raise

    @property
    def descriptors(self) -> tuple[int, int]:
        """Those of the API's socket and of the admin port's, or -1."""
        numbers = [each.fileno() for each in self._bound]
        return numbers[0], numbers[1] if len(numbers) > 1 else -1

    def close(self) -> None:
        """Leave them to the workers; a second time changes nothing."""
        for each in self._bound:
            each.close()


def check_same(old: Settings, new: Settings) -> None:
    """``SettingsError`` where the sockets would have to be others."""
    for name in _FIXED:
        if getattr(old, name) != getattr(new, name):
            raise SettingsError(f"{PREFIX}{name.upper()}: cannot change while the service runs")


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for left in reversed(range(_TRIES)):
        try:
            bound.bind((host, port))
            break
        except OSError as error:
            if not left or error.errno != errno.EADDRINUSE:
                bound.close()
                raise
            # The workers of a parent that was killed let go of it in a moment.
            time.sleep(_TRY_SECONDS)
    return bound
