"""Many frontends over many Tritons: is a slot given twice, and what does it cost? ``python -m tests.faults.shares``.

The frontends are the product's own shares over a real Redis, in one process whose clock stands while it works. Their
demands change every second; then frontends are killed and join besides, and Tritons come and go, which each frontend
sees at a moment of its own.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from frontend.dispatch.division import Offer, View
from frontend.dispatch.heartbeat import _TELL, Heartbeat
from frontend.dispatch.shared_shares import SharedShares
from frontend.dispatch.shares import Demand
from tests.clocks import VirtualLoop
from tests.redis import RedisServer

_NOW = "redis.call('TIME')"
_LOOK_SECONDS = 0.05
# Until all have heard of each other.
_SETTLE_SECONDS = 4.0


@dataclass(frozen=True)
class Size:
    """Of each model every Triton has so many ``slots``."""

    frontends: int
    tritons: int
    models: int
    slots: int


@dataclass
class Outcome:
    """How often a Triton's slots were looked at and how often too many had been given; the part of the slots that was
    given while nothing came or went, and for how many beats at most a frontend that wanted some had none then; and the
    seconds of a processor that a frontend takes a second.
    """

    looks: int = 0
    oversubscribed: int = 0
    parts: list[float] = field(default_factory=list)
    longest_without: int = 0
    processor: float = 0.0


class _Heartbeat(Heartbeat):
    """For Redis it is as late as for the loop."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(url, name)
        assert _NOW in _TELL
        self._timed = self._redis.register_script(_TELL.replace(_NOW, "{ARGV[3], ARGV[4]}"))
        self._script = self._tell_at  # type: ignore[assignment]

    async def _tell_at(self, keys: list[str], args: list[Any]) -> Any:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        seconds, part = divmod(loop.time(), 1)
        loop.asks(1)
        try:
            return await self._timed(keys=keys, args=[*args, int(seconds), int(part * 1e6)])
        finally:
            loop.asks(-1)


class Frontend:
    """Sees the Tritons of ``view`` for each of its models, and takes what is its part of them."""

    def __init__(self, url: str, view: View, models: int) -> None:
        self.view, self.models = view, [f"model {number}" for number in range(models)]
        self.demands = dict.fromkeys(self.models, Demand())
        self.own: dict[str, dict[str, int]] = {}
        self.without: Counter[str] = Counter()
        self.shares = SharedShares(url, self._tells, self._beat, {})
        self.shares._heartbeat = _Heartbeat(url, self.shares._name)

    def _tells(self) -> dict[str, tuple[Demand, View]]:
        return {model: (self.demands[model], self.view) for model in self.models}

    def take(self) -> None:
        self.own = {model: dict(self.shares.own(model, self.view)) for model in self.models}

    def _beat(self) -> None:
        self.take()
        for model in self.models:
            lacks = self.demands[model].calls and not any(self.own[model].values())
            self.without[model] = self.without[model] + 1 if lacks else 0


class Simulation:
    """All of them, and what was seen of them."""

    def __init__(self, url: str, size: Size) -> None:
        self._url, self._size, self.outcome = url, size, Outcome()
        self._names = [f"10.0.{number // 250}.{number % 250}:8001" for number in range(size.tritons + 5)]
        self._there = View({name: Offer(size.slots) for name in self._names[: size.tritons]})
        self._loop = asyncio.get_running_loop()
        self._frontends: list[Frontend] = []
        self._killed: list[Frontend] = []
        # Processor time of looking and of wanting, which is no frontend's.
        self._aside = 0.0

    async def run(self, quiet: float, stormy: float) -> Outcome:
        """Let all join; then change demands for so many seconds, and then everything."""
        await asyncio.gather(*(self._join() for _ in range(self._size.frontends)))
        await self._watch(_SETTLE_SECONDS)
        self._aside, spent, began = 0.0, time.process_time(), self._loop.time()
        await self._watch(quiet, is_quiet=True)
        spent = time.process_time() - spent - self._aside
        self.outcome.processor = spent / (self._loop.time() - began) / self._size.frontends
        changing = asyncio.create_task(self._change_on())
        await self._watch(stormy)
        changing.cancel()
        await asyncio.gather(changing, return_exceptions=True)
        await asyncio.gather(*(frontend.shares.close() for frontend in self._frontends + self._killed))
        return self.outcome

    async def _watch(self, seconds: float, *, is_quiet: bool = False) -> None:
        end, wants = self._loop.time() + seconds, 0.0
        while self._loop.time() < end:
            spent = time.process_time()
            if self._loop.time() > wants:
                wants = self._loop.time() + 1.0
                self._want()
            self._look(is_quiet=is_quiet)
            self._aside += time.process_time() - spent
            await asyncio.sleep(_LOOK_SECONDS)

    def _want(self) -> None:
        """Some want much, some little, some nothing, of each model."""
        for frontend in self._frontends:
            frontend.demands = {model: Demand(random.choice((0, 0, 1, 2, 3, 5, 50))) for model in frontend.models}

    def _look(self, *, is_quiet: bool) -> None:
        seen = self.outcome
        for model in self._frontends[0].models:
            given: Counter[str] = Counter()
            for frontend in self._frontends:
                given.update(frontend.own.get(model, {}))
                if is_quiet:
                    seen.longest_without = max(seen.longest_without, frontend.without[model])
            seen.looks += len(given)
            seen.oversubscribed += sum(slots > self._size.slots for slots in given.values())
            if is_quiet:
                seen.parts.append(given.total() / self._there.slots)

    async def _change_on(self) -> None:
        while True:
            await asyncio.sleep(1.5)
            await random.choice((self._kill, self._join, self._change_tritons))()

    async def _join(self) -> None:
        frontend = Frontend(self._url, self._there, self._size.models)
        self._frontends.append(frontend)
        await frontend.shares.start()
        frontend.take()

    async def _kill(self) -> None:
        """It tells nothing more, and has no calls; a last one lives on."""
        if len(self._frontends) > 1:
            frontend = self._frontends.pop(random.randrange(len(self._frontends)))
            self._killed.append(frontend)
            await frontend.shares._repeating.close()

    async def _change_tritons(self) -> None:
        """One goes and another comes; each frontend sees it within a second."""
        offers = dict(self._there.offers)
        offers.pop(random.choice(sorted(offers)))
        offers[random.choice([name for name in self._names if name not in offers])] = Offer(self._size.slots)
        self._there = View(offers)
        for frontend in self._frontends:
            asyncio.get_running_loop().call_later(random.random(), partial(self._see, frontend, self._there))

    def _see(self, frontend: Frontend, view: View) -> None:
        frontend.view = view
        frontend.take()


async def simulate(url: str, size: Size, quiet: float, stormy: float) -> Outcome:
    """What is seen of frontends that do as the product does, for so many seconds."""
    return await Simulation(url, size).run(quiet, stormy)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("frontends", 100), ("tritons", 100), ("models", 10), ("slots", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("quiet", "stormy"):
        parser.add_argument(f"--{name}", type=float, default=30.0, metavar="SECONDS")
    given = parser.parse_args()
    size = Size(given.frontends, given.tritons, given.models, given.slots)
    with tempfile.TemporaryDirectory() as folder:
        redis = RedisServer(Path(folder))
        redis.start()
        try:
            with asyncio.Runner(loop_factory=VirtualLoop) as runner:
                outcome = runner.run(simulate(redis.url, size, given.quiet, given.stormy))
        finally:
            redis.kill()
    print(f"{size}")
    print(
        f"slots of a model on a Triton: looked at {outcome.looks} times, too many given {outcome.oversubscribed} times"
    )
    print(f"while nothing came or went: {mean(outcome.parts):.1%} of the slots were given")
    print(f"a frontend that wanted slots was without for {outcome.longest_without} beats at most")
    print(f"a frontend takes {outcome.processor:.2%} of a processor")
    sys.exit("slots were given twice" if outcome.oversubscribed else None)


if __name__ == "__main__":
    _main()
