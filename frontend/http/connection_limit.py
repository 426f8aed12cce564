"""Limits on open connections, in total and per address."""

from collections import Counter

from frontend.config.networks import Networks, network_of
from frontend.observe.metrics import CONNECTIONS, CONNECTIONS_REFUSED


class ConnectionLimit:
    """Counts the open connections of a port.

    It admits ``most`` in total and ``most_of_address`` per address (0 is unlimited). The addresses of an IPv6 network
    (/64) count as one. Addresses of ``proxies`` have no limit of their own, since they stand for many callers.
    """

    def __init__(self, most: int, most_of_address: int = 0, proxies: Networks | None = None) -> None:
        self._most, self._most_of_address, self._proxies = most, most_of_address or most, proxies or Networks("")
        self._open = 0
        self._of_address: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Count one more connection from ``address``; false if it exceeds a limit."""
        counted = self._counted(address)
        many = self._of_address[counted] >= self._most_of_address and not self._proxies.has(address)
        if self._open >= self._most or many:
            CONNECTIONS_REFUSED.inc()
            return False
        self._of_address[counted] += 1
        self._open += 1
        CONNECTIONS.inc()
        return True

    def leave(self, address: str) -> None:
        """Remove an admitted connection from the counts."""
        self._open -= 1
        CONNECTIONS.dec()
        counted = self._counted(address)
        self._of_address[counted] -= 1
        if not self._of_address[counted]:
            del self._of_address[counted]

    def _counted(self, address: str) -> str:
        return address if self._proxies.has(address) else network_of(address)
