"""Which connections are let in: so many in all and of one address, and few of an address that are half closed."""

from collections import Counter

from frontend.config.networks import Networks, network_of
from frontend.observe.metrics import CONNECTIONS, CONNECTIONS_REFUSED

# One who writes no more and waits looks the same as one who has gone: so few of an address are believed to wait that
# those who drop many requests keep nothing busy.
HALF_CLOSED_AT_ONCE = 1


class Admission:
    """Counts the open connections of a port: ``most`` in all, ``most_of_address`` of one address, or 0 for as many.

    The addresses of an IPv6 network (/64) count as one. The address of one of the ``proxies`` is that of many callers,
    and has no bound of its own.
    """

    def __init__(self, most: int, most_of_address: int = 0, proxies: Networks | None = None) -> None:
        self._most, self._most_of_address, self._proxies = most, most_of_address or most, proxies or Networks("")
        self._open = 0
        self._of_address: Counter[str] = Counter()
        self._half_closed: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Whether one more connection from there is within the bounds; it is counted then."""
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
        """Whether one more caller there who writes no more is believed to wait for its answer; it is counted then."""
        counted = self._counted(address)
        if self._half_closed[counted] >= HALF_CLOSED_AT_ONCE:
            return False
        self._half_closed[counted] += 1
        return True

    def leave(self, address: str, *, half_closed: bool) -> None:
        """A connection that was let in has ended."""
        self._open -= 1
        CONNECTIONS.dec()
        counted = self._counted(address)
        for counts, count in ((self._of_address, 1), (self._half_closed, int(half_closed))):
            counts[counted] -= count
            if not counts[counted]:
                del counts[counted]

    def _counted(self, address: str) -> str:
        return address if self._proxies.has(address) else network_of(address)
