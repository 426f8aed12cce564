"""The listening sockets of all workers."""

import errno
import socket
import time

from frontend.config.reading import PREFIX, SettingsError
from frontend.config.settings import Settings

_TRIES, _TRY_SECONDS = 10, 0.1
# Settings that cannot change while the sockets are open.
_FIXED = ("host", "port", "admin_host", "admin_port")


class Sockets:
    """Bound sockets that do not listen: callers are refused until the first worker accepts.

    Raises ``OSError`` for a port in use.
    """

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
        """Descriptors of the API socket and the admin socket, or -1."""
        numbers = [each.fileno() for each in self._bound]
        return numbers[0], numbers[1] if len(numbers) > 1 else -1

    def close(self) -> None:
        """Close this process's copies; a second call changes nothing."""
        for each in self._bound:
            each.close()


def check_same(old: Settings, new: Settings) -> None:
    """Raise ``SettingsError`` if new settings need other sockets."""
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
            # Workers of a killed parent release the port within a moment.
            time.sleep(_TRY_SECONDS)
    return bound
