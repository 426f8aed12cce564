"""Memory for callers' data: bodies, decoded audio, and answers not yet read."""

from collections import Counter
from collections.abc import Hashable
from contextlib import AbstractContextManager, ExitStack

from frontend.errors import Busy
from frontend.observe.metrics import HELD_BYTES

_RETRY_SECONDS = 5  # for ``Retry-After``


class MemoryBudget:
    """At most ``most`` bytes in total, half of them for one key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._total = 0
        self._of: Counter[Hashable] = Counter()

    def add(self, key: Hashable, count: int) -> None:
        """Add ``count`` bytes, which may be negative. This does not enforce the bounds; ``refuse_beyond`` does."""
        self._total += count
        self._of[key] += count
        if not self._of[key]:
            del self._of[key]
        HELD_BYTES.set(self._total)

    def refuse_beyond(self, key: Hashable, own: int) -> None:
        """Raise ``Busy`` if the bytes in total or of this key exceed the bound.

        The request's ``own`` bytes never do alone.
        """
        if self._of[key] > max(own, self._most // 2):
            raise Busy("too many of your requests are under way, retry later", retry_after=_RETRY_SECONDS)
        if self._total > max(own, self._most):
            raise Busy("too many requests are under way, retry later", retry_after=_RETRY_SECONDS)


class MemoryReservation(AbstractContextManager["MemoryReservation"]):
    """The bytes reserved for one request, until it is closed."""

    def __init__(self, budget: MemoryBudget, key: Hashable) -> None:
        self._budget, self._key = budget, key
        self._count = 0
        # Resources that close with the reservation.
        self.closing = ExitStack()

    def __exit__(self, *error: object) -> None:
        self.closing.close()
        self.resize(0)

    def add(self, count: int) -> None:
        """Reserve ``count`` more bytes; raise ``Busy`` if that exceeds a bound."""
        self.resize(self._count + count)
        self._budget.refuse_beyond(self._key, self._count)

    def resize(self, count: int) -> None:
        """Set the reservation to ``count`` bytes without a bound check, since the work is already done."""
        self._budget.add(self._key, count - self._count)
        self._count = count
