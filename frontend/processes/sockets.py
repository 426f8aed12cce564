"""The listening sockets."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from frontend.config.settings import Settings


def bind(settings: Settings) -> list[socket.socket]:
    """Bind the API port, and the admin port if there is one. Raises ``OSError`` for a port in use.

    Callers are refused until ``listen``. Processes of this service inherit the sockets; the kernel keeps their ports
    from all others.
    """
    addresses = [(settings.host, settings.port)]
    if settings.admin_port:
        addresses.append((settings.admin_host, settings.admin_port))
    return [_bound(host, port) for host, port in addresses]


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        with _naming(host, port):
            bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def listen(bound: socket.socket) -> None:
    """Listen. Raises ``OSError`` if a program that was started at the same time listens on the port.

    uvloop would not notice.
    """
    with _naming(*bound.getsockname()[:2]):
        bound.listen()


@contextmanager
def _naming(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(f"port {port} of {host}: {error.strerror}") from error
