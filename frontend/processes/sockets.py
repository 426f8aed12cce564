"""The listening sockets of all workers."""

import errno
import socket
import time

from frontend.config.settings import Settings

# Seconds between attempts to bind. Workers of a killed parent release the port within a moment.
_TRIES, _TRY_SECONDS = 10, 0.1


def bind(settings: Settings) -> list[socket.socket]:
    """Bind the API port, and the admin port if there is one. Raises ``OSError`` for a port in use.

    The sockets do not listen, so that callers are refused until the first worker accepts.
    """
    addresses = [(settings.host, settings.port)]
    if settings.admin_port:
        addresses.append((settings.admin_host, settings.admin_port))
    return [_bound(host, port) for host, port in addresses]


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
            time.sleep(_TRY_SECONDS)
    return bound
