"""Limits on open connections: in total, per address, and half-closed per address."""

from collections import Counter

from frontend.config.networks import Networks, network_of
from frontend.observe.metrics import CONNECTIONS, CONNECTIONS_REFUSED

# A half-closed socket looks like a disconnect. Trust only this many connections per address.
HALF_CLOSED_AT_ONCE = 1


class Admission:
    """Counts the open connections of a port.

    It admits ``most`` in total and ``most_of_address`` per address (0 is unlimited). The addresses of an IPv6 network
    (/64) count as one. Addresses of ``proxies`` have no limit of their own, since they stand for many callers.
    """

    def __init__(self, most: int, most_of_address: int = 0, proxies: Networks | None = None) -> None:
        self._most, self._most_of_address, self._proxies = most, most_of_address or most, proxies or Networks("")
        self._open = 0
        self._of_address: Counter[str] = Counter()
        self._half_closed: Counter[str] = Counter()

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

    def half_close(self, address: str) -> bool:
        """Count one more half-closed connection that waits for its answer; false if the address has too many."""
        counted = self._counted(address)
        if self._half_closed[counted] >= HALF_CLOSED_AT_ONCE:
            return False
        self._half_closed[counted] += 1
        return True

    def leave(self, address: str, *, half_closed: bool) -> None:
        """Remove an admitted connection from the counts."""
        self._open -= 1
        CONNECTIONS.dec()
        counted = self._counted(address)
        for counts, count in ((self._of_address, 1), (self._half_closed, int(half_closed))):
            counts[counted] -= count
            if not counts[counted]:
                del counts[counted]

    def _counted(self, address: str) -> str:
        return address if self._proxies.has(address) else network_of(address)
