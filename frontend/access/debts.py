"""Who makes much of what nobody pays for: a leaky bucket a name, which is let in again as it runs empty.

The bucket is kept as the time at which it is empty, as in the generic cell rate algorithm (ITU-T I.371).
"""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus

from frontend.errors import ApiError, RateLimited

# So many names at once; those that were heard of longest ago are forgotten.
_MOST_NAMES = 10_000
# A wrong key is told so after this at the latest.
_LONGEST_PAUSE = 5.0
# More mistakes than these nobody makes who has the admin key.
_GUESSES_A_MINUTE = 10
# A request that would wait longer for its turn is refused.
_PATIENCE_SECONDS = 30.0
# What a request that had to wait is taken to cost while it runs, so that those behind it do not run beside it.
_STAKE_SECONDS = 2.0
_LONGEST_RETRY = 300
# What is owed may become less meanwhile.
_LOOK_SECONDS = 0.25
# Processor time is forgiven this slowly.
_FORGIVEN_A_SECOND = 0.2


class Debts:
    """What names owe, in some unit: ``allowance`` is free, and ``rate`` of it is forgiven each second."""

    def __init__(self, allowance: float, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._allowance, self._rate, self._clock = allowance, rate, clock
        self._paid_at: OrderedDict[Hashable, float] = OrderedDict()

    def owe(self, name: Hashable, amount: float) -> None:
        """Owe more, or less; never less than nothing."""
        now = self._clock()
        paid_at = max(now, self._paid_at.pop(name, now)) + amount / self._rate
        if paid_at > now:
            self._paid_at[name] = paid_at
            if len(self._paid_at) > _MOST_NAMES:
                self._paid_at.popitem(last=False)

    def wait(self, name: Hashable) -> float:
        """Seconds until a name owes no more than what is free."""
        return max(0.0, self._paid_at.get(name, 0.0) - self._clock() - self._allowance / self._rate)


class WrongKeys:
    """Answers to wrong keys come later and later to an address that sends many; ``a_minute`` of 0 is no bound.

    Guesses of the admin key have a bound of their own.
    """

    def __init__(self, a_minute: int) -> None:
        self._debts = Debts(a_minute, a_minute / 60) if a_minute else None
        self._guesses = Debts(_GUESSES_A_MINUTE, _GUESSES_A_MINUTE / 60)

    async def pause(self, address: str) -> None:
        """Note one, and let its answer wait."""
        if self._debts is not None:
            self._debts.owe(address, 1)
            await asyncio.sleep(min(_LONGEST_PAUSE, self._debts.wait(address)))

    def note_guess(self, address: str) -> None:
        """Note a wrong admin key; ``RateLimited`` for one beyond the bound, which is not noted and puts nothing off."""
        if wait := self._guesses.wait(address):
            raise RateLimited(
                "too many wrong admin keys from this address, retry later",
                headers={"Retry-After": str(math.ceil(wait))},
            )
        self._guesses.owe(address, 1)


class Unpaid:
    """Work that led to no answer; whoever makes more of it than of what is paid waits, one request at a time."""

    def __init__(self, seconds: float) -> None:
        self._debts = Debts(seconds, _FORGIVEN_A_SECOND)

    @asynccontextmanager
    async def paced(self, key: Hashable) -> AsyncIterator[None]:
        """A request of the key, when it may begin; ``RateLimited`` where that is too far off."""
        waited = False
        while (wait := self._debts.wait(key)) > 0:
            if wait > _PATIENCE_SECONDS:
                raise RateLimited(
                    "too much work for this key led to no answer, such as audio without speech, retry later",
                    headers={"Retry-After": str(min(_LONGEST_RETRY, math.ceil(wait)))},
                )
            await asyncio.sleep(min(wait, _LOOK_SECONDS))
            waited = True
        stake = _STAKE_SECONDS if waited else 0.0
        self._debts.owe(key, stake)
        try:
            yield
        finally:
            self._debts.owe(key, -stake)

    @contextmanager
    def work(self, key: Hashable) -> Iterator["Stint"]:
        """Work for the key, which owes for it until it is ``paid``; it owes nothing where a fault of ours ends it."""
        stint = Stint(self._debts, key)
        try:
            yield stint
        except Exception as error:
            if not isinstance(error, ApiError) or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                stint.forgive()
            raise


class Stint:
    """A piece of work for a key, and the time that all of it takes."""

    def __init__(self, debts: Debts, key: Hashable) -> None:
        self._debts, self._key, self._seconds = debts, key, 0.0

    @contextmanager
    def taking_time(self) -> Iterator[None]:
        """What is done meanwhile is owed for when it has ended."""
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self._seconds += seconds
            self._debts.owe(self._key, seconds)

    def paid(self) -> None:
        """The caller has got what it pays for: this is not owed, and as much of what is."""
        self._debts.owe(self._key, -2 * self._seconds)

    def forgive(self) -> None:
        """This is not owed."""
        self._debts.owe(self._key, -self._seconds)
