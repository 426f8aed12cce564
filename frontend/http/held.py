"""How many bytes are held for callers: bodies that arrive, decoded audio, answers that are not read yet."""

from collections import Counter
from collections.abc import Hashable
from contextlib import AbstractContextManager, ExitStack

from frontend.errors import Busy
from frontend.observe.metrics import HELD_BYTES

_RETRY_SECONDS = 5


class Held:
    """At most ``most`` bytes in all, half of them for one key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._total = 0
        self._of: Counter[Hashable] = Counter()

    def add(self, key: Hashable, count: int) -> None:
        """Hold more, or less; what is beyond the bounds is held too, for ``refuse_beyond`` to tell."""
        self._total += count
        self._of[key] += count
        if not self._of[key]:
            del self._of[key]
        HELD_BYTES.set(self._total)

    def refuse_beyond(self, key: Hashable, own: int) -> None:
        """``Busy`` while too much is held, in all or for this key; a request's ``own`` never is."""
        if self._of[key] > max(own, self._most // 2):
            raise Busy("too many of your requests are under way, retry later", retry_after=_RETRY_SECONDS)
        if self._total > max(own, self._most):
            raise Busy("too many requests are under way, retry later", retry_after=_RETRY_SECONDS)


class Holding(AbstractContextManager["Holding"]):
    """What is held for one request of a key, until it is closed."""

    def __init__(self, held: Held, key: Hashable) -> None:
        self._held, self._key = held, key
        self._count = 0
        # What is to be closed with it.
        self.closing = ExitStack()

    def __exit__(self, *error: object) -> None:
        self.closing.close()
        self.keep(0)

    def add(self, count: int) -> None:
        """Hold ``count`` more bytes; ``Busy`` where that is too much."""
        self.keep(self._count + count)
        self._held.refuse_beyond(self._key, self._count)

    def keep(self, count: int) -> None:
        """Hold so many bytes from here on, whatever the bounds are: the work for them is done."""
        self._held.add(self._key, count - self._count)
        self._count = count
