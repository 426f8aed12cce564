"""The listening sockets."""

import socket

from frontend.config.settings import Settings


def bind(settings: Settings) -> list[socket.socket]:
    """Bind the API port, and the admin port if there is one. Raises ``OSError`` for a port in use.

    The sockets do not listen, so that callers are refused until a server accepts. Processes of this service inherit
    them, and nobody else can bind their ports.
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
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise OSError(f"port {port} of {host}: {error.strerror}") from error
    return bound
