"""Slows who makes much of what nobody pays for: wrong keys, and work that leads to no answer."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus

from frontend.errors import ApiError, RateLimited

# So many buckets at once; those that nothing was put in for longest are forgotten.
_MOST_NAMES = 10_000
# A wrong key is told so after this at the latest.
_LONGEST_PAUSE = 5.0
# More mistakes than these nobody makes who has the admin key.
_GUESSES_A_MINUTE = 10
# A request that would wait longer for its turn is refused.
_PATIENCE_SECONDS = 30.0
# What a request that had to wait is taken to cost while it runs, so that those behind it do not run beside it.
_STAKE_SECONDS = 2.0
# What is in a bucket may become less meanwhile.
_LOOK_SECONDS = 0.25
# Processor time leaks out of a key's bucket this slowly.
_LEAK_A_SECOND = 0.2


class LeakyBuckets:
    """A bucket a name, in some unit: ``capacity`` fits into each, and ``leak`` runs out of it each second.

    It is kept as the time at which it is empty, as in the generic cell rate algorithm (ITU-T I.371).
    """

    def __init__(self, capacity: float, leak: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity, self._leak, self._clock = capacity, leak, clock
        self._empty_at: OrderedDict[Hashable, float] = OrderedDict()

    def put(self, name: Hashable, amount: float) -> None:
        """Put more in, also beyond what fits; a negative amount is taken out, and no more than there is."""
        now = self._clock()
        empty_at = max(now, self._empty_at.pop(name, now)) + amount / self._leak
        if empty_at > now:
            self._empty_at[name] = empty_at
            if len(self._empty_at) > _MOST_NAMES:
                self._empty_at.popitem(last=False)

    def wait(self, name: Hashable) -> float:
        """Seconds until no more is in the bucket than fits."""
        return max(0.0, self._empty_at.get(name, 0.0) - self._clock() - self._capacity / self._leak)


class WrongKeys:
    """Answers to wrong keys come later and later to an address that sends many; ``a_minute`` of 0 is no bound.

    Guesses of the admin key have a bound of their own.
    """

    def __init__(self, a_minute: int) -> None:
        self._wrong = LeakyBuckets(a_minute, a_minute / 60) if a_minute else None
        self._guesses = LeakyBuckets(_GUESSES_A_MINUTE, _GUESSES_A_MINUTE / 60)

    async def pause(self, address: str) -> None:
        """Note one, and let its answer wait."""
        if self._wrong is not None:
            self._wrong.put(address, 1)
            await asyncio.sleep(min(_LONGEST_PAUSE, self._wrong.wait(address)))

    def note_guess(self, address: str) -> None:
        """Note a wrong admin key; ``RateLimited`` for one beyond the bound, which is not noted and puts nothing off."""
        if wait := self._guesses.wait(address):
            raise _refusal("too many wrong admin keys from this address", wait)
        self._guesses.put(address, 1)


class UnbilledWorkThrottle:
    """Whoever makes more work that led to no answer than work that is paid waits, one request at a time.

    ``seconds`` of it are free.
    """

    def __init__(self, seconds: float) -> None:
        self._buckets = LeakyBuckets(seconds, _LEAK_A_SECOND)

    @asynccontextmanager
    async def paced(self, key: Hashable) -> AsyncIterator[None]:
        """A request of the key, when it may begin; ``RateLimited`` where that is too far off."""
        stake = 0.0
        while wait := self._buckets.wait(key):
            if wait > _PATIENCE_SECONDS:
                raise _refusal("too much work for this key led to no answer, such as audio without speech", wait)
            await asyncio.sleep(min(wait, _LOOK_SECONDS))
            stake = _STAKE_SECONDS
        self._buckets.put(key, stake)
        try:
            yield
        finally:
            self._buckets.put(key, -stake)

    @contextmanager
    def work(self, key: Hashable) -> Iterator["Stint"]:
        """Work for the key, unbilled until it is ``paid``; where a fault of ours ends it, the key has none of it."""
        stint = Stint(self._buckets, key)
        try:
            yield stint
        except Exception as error:
            if not isinstance(error, ApiError) or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                stint.take_out(1)
            raise


class Stint:
    """A piece of work for a key, and the time that all of it takes."""

    def __init__(self, buckets: LeakyBuckets, key: Hashable) -> None:
        self._buckets, self._key, self._seconds = buckets, key, 0.0

    @contextmanager
    def taking_time(self) -> Iterator[None]:
        """What is done meanwhile is put into the bucket when it has ended."""
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self._seconds += seconds
            self._buckets.put(self._key, seconds)

    def paid(self) -> None:
        """The caller has got what it pays for: this is taken out, and as much of what else is in."""
        self.take_out(2)

    def take_out(self, times: int) -> None:
        """So many times what was put in."""
        self._buckets.put(self._key, -times * self._seconds)


def _refusal(reason: str, wait: float) -> RateLimited:
    return RateLimited(f"{reason}, retry later", headers={"Retry-After": str(math.ceil(wait))})
