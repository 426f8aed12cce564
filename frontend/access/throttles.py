"""Leaky buckets, one per key or address, that throttle wrong keys and unbilled work."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus

from frontend.errors import ApiError, RateLimited

# The most buckets; the least recently used ones are dropped.
_MOST_NAMES = 10_000
# The longest delay of the answer to a wrong key, in seconds.
_LONGEST_PAUSE = 5.0
# A holder of the admin key does not mistype it more often than this, per minute.
_GUESSES_A_MINUTE = 10
# The longest wait of a throttled request, in seconds; beyond it, the request is refused.
_PATIENCE_SECONDS = 30.0
# The provisional cost of a delayed request, in seconds, so that delayed requests of one key run one at a time.
_STAKE_SECONDS = 2.0
# The pause between looks at a bucket, in seconds; its level may fall meanwhile.
_LOOK_SECONDS = 0.25
# Seconds of work that leak out of a key's bucket per second.
_LEAK_A_SECOND = 0.2


class LeakyBuckets:
    """One bucket per name: ``capacity`` fits into each, and ``leak`` runs out per second, in any unit.

    A bucket is stored as the time at which it is empty, as in the generic cell rate algorithm (ITU-T I.371).
    """

    def __init__(self, capacity: float, leak: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity, self._leak, self._clock = capacity, leak, clock
        self._empty_at: OrderedDict[Hashable, float] = OrderedDict()

    def put(self, name: Hashable, amount: float) -> None:
        """Add an amount, even beyond the capacity. A negative amount empties the bucket at most."""
        now = self._clock()
        empty_at = max(now, self._empty_at.pop(name, now)) + amount / self._leak
        if empty_at > now:
            self._empty_at[name] = empty_at
            if len(self._empty_at) > _MOST_NAMES:
                self._empty_at.popitem(last=False)

    def wait(self, name: Hashable) -> float:
        """Seconds until the bucket is no fuller than its capacity."""
        return max(0.0, self._empty_at.get(name, 0.0) - self._clock() - self._capacity / self._leak)


class WrongKeys:
    """Delays answers to an address that sends over ``a_minute`` wrong keys per minute; 0 for no limit.

    Wrong admin keys have their own limit.
    """

    def __init__(self, a_minute: int) -> None:
        self._wrong = LeakyBuckets(a_minute, a_minute / 60) if a_minute else None
        self._guesses = LeakyBuckets(_GUESSES_A_MINUTE, _GUESSES_A_MINUTE / 60)

    async def pause(self, address: str) -> None:
        """Count a wrong key and delay its answer."""
        if self._wrong is not None:
            self._wrong.put(address, 1)
            await asyncio.sleep(min(_LONGEST_PAUSE, self._wrong.wait(address)))

    def note_guess(self, address: str) -> None:
        """Count a wrong admin key. Raises ``RateLimited`` beyond the limit, without counting it."""
        if wait := self._guesses.wait(address):
            raise _refusal("too many wrong admin keys from this address", wait)
        self._guesses.put(address, 1)


class UnbilledWorkThrottle:
    """Throttles keys with more unbilled than billed work to one request at a time.

    ``seconds`` of unbilled work by a process or a model are free.
    """

    def __init__(self, seconds: float) -> None:
        self._buckets = LeakyBuckets(seconds, _LEAK_A_SECOND)

    @asynccontextmanager
    async def paced(self, key: Hashable) -> AsyncIterator[None]:
        """Wait until a request of the key may begin. Raises ``RateLimited`` if the wait is too long."""
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

    def timer(self, key: Hashable) -> "WorkTimer":
        """A timer of work that counts as unbilled until it is ``paid``."""
        return WorkTimer(self._buckets, key)

    @contextmanager
    def work(self, key: Hashable) -> Iterator["WorkTimer"]:
        """Count work for the key as unbilled until it is ``paid``. A server error takes it out again."""
        timer = self.timer(key)
        try:
            yield timer
        except Exception as error:
            if not isinstance(error, ApiError) or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                timer.take_out(1)
            raise


class WorkTimer:
    """The seconds that processes and models worked on one request."""

    def __init__(self, buckets: LeakyBuckets, key: Hashable) -> None:
        self._buckets, self._key, self._seconds = buckets, key, 0.0

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Add the seconds of the block to the bucket when it ends."""
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self._seconds += seconds
            self._buckets.put(self._key, seconds)

    def add(self, seconds: float) -> None:
        """Add work that others did, such as the model's."""
        self._seconds += seconds
        self._buckets.put(self._key, seconds)

    def paid(self) -> None:
        """Take the work out, and the same amount of other unbilled work."""
        self.take_out(2)

    def take_out(self, times: int) -> None:
        """Take out the work of this request, ``times`` over."""
        self._buckets.put(self._key, -times * self._seconds)


def _refusal(reason: str, wait: float) -> RateLimited:
    return RateLimited(f"{reason}, retry later", headers={"Retry-After": str(math.ceil(wait))})
