"""Rate limits of keys and their organisation in any order of requests, pauses and changes."""

import asyncio
from collections import Counter
from fractions import Fraction

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from frontend.access.caller import Caller
from frontend.access.counters import MemoryCounters
from frontend.access.limits import Limiter
from frontend.errors import RateLimited
from tests.clocks import LimitsClock
from tests.fuzz import histories

_KEYS = {"a": "acme", "b": "acme", "c": None}
_NAMES = ("speech", "rerank")
# The library counts in floating point. So near to a whole request, either answer is right.
_NEAR = Fraction(1, 10_000)


class Limits(RuleBasedStateMachine):
    """The model counts by counter and minute, in fractions."""

    @initialize(limit=st.integers(1, 6), shared=st.integers(1, 9))
    def begin(self, limit: int, shared: int) -> None:
        self.clock, self.counters, self.runner = LimitsClock(), MemoryCounters(), asyncio.Runner()
        self.limit, self.shared, self.milliseconds = limit, shared, 0
        self.counted: Counter[tuple[str, int]] = Counter()

    def teardown(self) -> None:
        if hasattr(self, "clock"):
            self.clock.close()
            self.runner.close()

    def _used(self, counter: str, milliseconds: int) -> Fraction:
        minute, elapsed = divmod(milliseconds, 60_000)
        before = Fraction(self.counted[counter, minute - 1] * (60_000 - elapsed), 60_000)
        return before + self.counted[counter, minute]

    def _limits(self, key: str, name: str) -> dict[str, int]:
        own = {f"{key} {name}": self.limit}
        return own | {"acme": self.shared} if _KEYS[key] else own

    def _open(self, key: str, name: str, milliseconds: int) -> bool | None:
        """Whether a request passes; None where either answer is right."""
        free = [most - self._used(counter, milliseconds) for counter, most in self._limits(key, name).items()]
        least = min(free)
        return None if abs(least) < _NEAR else least > 0

    def _limiter(self) -> Limiter:
        return Limiter(self.counters, dict.fromkeys(_NAMES, self.limit), {})

    def _caller(self, key: str) -> Caller:
        return Caller(key, key, org=_KEYS[key], org_limit=self.shared if _KEYS[key] else None)

    def _advance(self, milliseconds: int) -> None:
        self.milliseconds += milliseconds
        self.clock.move_to(1_000_000_020.0 + self.milliseconds / 1000 + 1e-5)

    @rule(key=st.sampled_from(sorted(_KEYS)), name=st.sampled_from(_NAMES), times=st.integers(1, 4))
    def requests_come(self, key: str, name: str, times: int) -> None:
        for _ in range(times):
            expected = self._open(key, name, self.milliseconds)
            try:
                headers = self.runner.run(_take(self._limiter(), self._caller(key), name))
            except RateLimited as refused:
                assert expected is not True
                self._check_wait(key, name, int(refused.headers["Retry-After"]))
                continue
            assert expected is not False
            for counter in self._limits(key, name):
                self.counted[counter, self.milliseconds // 60_000] += 1
            assert 0 <= int(headers["X-RateLimit-Remaining"]) < int(headers["X-RateLimit-Limit"])

    def _check_wait(self, key: str, name: str, seconds: int) -> None:
        assert 1 <= seconds <= 60
        limits = self._limits(key, name)
        worst = max(limits, key=lambda counter: self._used(counter, self.milliseconds) - limits[counter])
        # A limit that was lowered may be reached for longer.
        if len(limits) == 1 and seconds < 60:
            assert self._used(worst, self.milliseconds + 1000 * seconds) < limits[worst] + _NEAR

    @rule(milliseconds=st.one_of(st.integers(1, 5_000), st.integers(1, 130_000)))
    def time_passes(self, milliseconds: int) -> None:
        self._advance(milliseconds)

    @rule(limit=st.integers(1, 6), shared=st.integers(1, 9))
    def an_operator_changes_limits(self, limit: int, shared: int) -> None:
        self.limit, self.shared = limit, shared

    @invariant()
    def reading_counts_nothing_and_agrees(self) -> None:
        if not hasattr(self, "clock"):
            return
        for key in _KEYS:
            read = self.runner.run(self._limiter().usage(self._caller(key)))
            for name in _NAMES:
                used = self._used(f"{key} {name}", self.milliseconds)
                assert used - 1 - _NEAR <= read[name].used <= used + _NEAR
                assert read[name].remaining <= self.limit


async def _take(limiter: Limiter, caller: Caller, name: str) -> dict[str, str]:
    return dict(await limiter.take(caller, name))


TestLimits = histories(Limits, 25, steps=30)
