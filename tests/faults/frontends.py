"""Many frontends over many Tritons, and how many calls they have in flight together.

Each has the product's own dispatcher and shares its demand over a real Redis. All run in one process, whose clock
stands while it works. Demands change every second; then all begin at the same moment; some die; then frontends are
killed, leave and join, and Tritons come and go, which each frontend sees at a moment of its own.
"""

import asyncio
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from frontend.dispatch.admission import ModelCalls
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.fair_share import Call
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.peers.frontends import Snapshot
from frontend.sharing import frontends as shared
from frontend.sharing.frontends import SharedFrontends
from frontend.tritons.backend import Backend
from frontend.tritons.inference import Capacity, InferenceServer
from tests.clocks import VirtualLoop

_NOW = "redis.call('TIME')"
_LOOK_SECONDS = 0.05
# Until all have heard of each other, and until nobody is taken to use a model that has no calls.
_SETTLE_SECONDS, _FORGET_SECONDS = 4.0, 8.0
# Until the part of a dead frontend should be in use, with some to spare.
_DEAD_SECONDS = 6.0
_MANY = 50


@dataclass(frozen=True)
class Size:
    """Numbers of frontends, Tritons and models, of ``instances`` per Triton, and of calls in a ``batch``.

    A frontend publishes its demand up to ``late`` seconds late.
    """

    frontends: int
    tritons: int
    models: int
    instances: int = 2
    batch: int = 1
    late: float = 0.3


@dataclass
class Outcome:
    """``broken`` is how often frontends together might have had more calls of a model in flight than its bound and one
    for each frontend. ``without`` counts frontends that had calls and could send none.

    ``parts`` is the part of the bound that was given while nothing came or went, ``dead`` the seconds until what a dead
    frontend had was in use, and ``begun`` those until all that began at once had equal parts.
    """

    looks: int = 0
    broken: int = 0
    without: int = 0
    parts: list[float] = field(default_factory=list)
    dead: list[float] = field(default_factory=list)
    begun: float = math.inf


class _Shared(SharedFrontends):
    """Redis has the time of the event loop, and demand may be published late."""

    def __init__(self, url: str, late: float, tells: Callable[[], Snapshot], changed: Callable[[], None]) -> None:
        super().__init__(url, tells, changed)
        assert _NOW in shared._PUBLISH
        self._late, self._timed = late, self.redis.register_script(shared._PUBLISH.replace(_NOW, "{ARGV[3], ARGV[4]}"))
        self._script = self._tell_at  # type: ignore[assignment]

    async def beat(self) -> None:
        await asyncio.sleep(random.random() * self._late)
        await super().beat()

    async def die(self) -> None:
        """It publishes nothing more, not even that it leaves."""
        await self._repeating.close()
        await self.redis.aclose()

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
    """Has as many calls of each model as it ``wants``, where it may."""

    def __init__(self, url: str, size: Size, tritons: Iterable[str]) -> None:
        self._size, self._loop = size, asyncio.get_running_loop()
        self.shared = _Shared(url, size.late, lambda: self._dispatcher.snapshot(), lambda: self._dispatcher.share())
        self._dispatcher = Dispatcher(Rules(), Bounds(), self.shared)
        self.models = [f"model {number}" for number in range(size.models)]
        self.wants = dict.fromkeys(self.models, 0)
        self._calls: dict[str, list[Call]] = {model: [] for model in self.models}
        for model in self.models:
            self._dispatcher.register_model(model)
        self.see(tritons)

    def its(self, model: str) -> ModelCalls:
        return self._dispatcher._admission.models[model]

    def may(self, model: str) -> int:
        """How many calls it may have in flight now: none where it is not taken to use the model."""
        its = self.its(model)
        return its.scheduler.bound if its.scheduler.is_used(self._loop.time()) else 0

    def see(self, tritons: Iterable[str]) -> None:
        """These Tritons are there and no others."""
        backends, admission = self._dispatcher._backends, self._dispatcher._admission
        for name in set(backends) - set(tritons):
            for model in self.models:
                self._end(model, [call for call in self._calls[model] if call.backend == name])
            del backends[name]
            admission.forget(name)
        for name in sorted(set(tritons) - set(backends)):
            places = dict.fromkeys(self.models, 0)
            server = cast(InferenceServer, None)
            backends[name] = Backend(
                name, server, places, self._dispatcher._changed, self.shared.lock, {}, lambda: len(backends)
            )
            for load in admission.triton(name, places).models.values():
                load.capacity, load.takes_calls = Capacity(self._size.instances, self._size.batch), True
        self._dispatcher.share()

    def end(self) -> None:
        """All calls that it has in flight end."""
        for model, calls in self._calls.items():
            self._end(model, list(calls))

    def send(self) -> bool:
        """Send what it may of what it wants; False where it has nothing of some model in flight that it wants."""
        sent = [self._send(model, wanted) for model, wanted in self.wants.items()]
        return all(sent)

    def _send(self, model: str, wanted: int) -> bool:
        its, calls = self.its(model), self._calls[model]
        near = sorted(its.tritons, key=lambda name: its.tritons[name].models[model].turn)
        while len(calls) < wanted and its.has_share(1.0):
            now = self._loop.time()
            call = Call("key", 2, None, now)
            its.scheduler.enter(call, now)
            # As the product does where all are idle: as many to each as it works on at once.
            place = sum(map(len, self._calls.values())) // self._size.instances
            its.begin(2, call, near[place % len(near)], now)
            calls.append(call)
        return bool(calls) or not wanted

    def _end(self, model: str, calls: Sequence[Call]) -> None:
        for call in calls:
            self.its(model).leave(call, self._loop.time())
            self._calls[model].remove(call)


class Simulation:
    """All of them, and what was seen of them."""

    def __init__(self, url: str, size: Size) -> None:
        self._url, self._size, self.outcome = url, size, Outcome()
        self._names = [f"pool/10.0.{number // 250}.{number % 250}:8001" for number in range(size.tritons + 5)]
        self._there = set(self._names[: size.tritons])
        self._loop = asyncio.get_running_loop()
        self._frontends: list[Frontend] = []
        self._wants: Callable[[], int] = lambda: 0

    async def run(self, quiet: float, deaths: int, stormy: float) -> Outcome:
        """Let all join, change demands for ``quiet`` seconds, begin at once, kill ``deaths``, then do all together."""
        await asyncio.gather(*(self._join() for _ in range(self._size.frontends)))
        await self._watch(_SETTLE_SECONDS)
        self._wants = lambda: random.choice((0, 0, 1, 2, 3, 5, _MANY))
        await self._watch(_SETTLE_SECONDS)
        await self._watch(quiet, parts=self.outcome.parts)
        self._wants = lambda: 0
        await self._watch(_FORGET_SECONDS)
        await self._begin_at_once()
        for _ in range(deaths):
            await self._die()
            await self._join()
            await self._watch(_SETTLE_SECONDS)
        self._wants = lambda: random.choice((0, 0, 1, 2, 3, 5, _MANY))
        changing = asyncio.create_task(self._change_on())
        await self._watch(stormy)
        changing.cancel()
        await asyncio.gather(changing, return_exceptions=True)
        await asyncio.gather(*(frontend.shared.close() for frontend in self._frontends))
        return self.outcome

    async def _begin_at_once(self) -> None:
        self._wants, began = lambda: _MANY, self._loop.time()
        await self._watch(_SETTLE_SECONDS, until=self._has_equal_parts)
        if self._has_equal_parts():
            self.outcome.begun = self._loop.time() - began

    async def _die(self) -> None:
        """Between any two beats."""
        await self._watch(random.random())
        await self._kill()
        died = self._loop.time()
        await self._watch(_DEAD_SECONDS, until=self._has_equal_parts)
        self.outcome.dead.append(self._loop.time() - died if self._has_equal_parts() else math.inf)

    def _has_equal_parts(self) -> bool:
        return all(
            math.isclose(frontend.its(model).share, 1 / len(self._frontends))
            for frontend in self._frontends
            for model in frontend.models
        )

    async def _watch(
        self, seconds: float, parts: list[float] | None = None, until: Callable[[], bool] = lambda: False
    ) -> None:
        """Calls take a second; look at every moment."""
        end, again = self._loop.time() + seconds, 0.0
        while self._loop.time() < end and not (again and until()):
            if self._loop.time() > again:
                again = self._loop.time() + 1.0
                for frontend in self._frontends:
                    frontend.wants = {model: self._wants() for model in frontend.models}
                    frontend.end()
            self._look(parts)
            await asyncio.sleep(_LOOK_SECONDS)

    def _look(self, parts: list[float] | None) -> None:
        seen = self.outcome
        seen.without += sum(not frontend.send() for frontend in self._frontends)
        bound = len(self._there) * 2 * self._size.instances * self._size.batch
        for model in self._frontends[0].models:
            given = [may for frontend in self._frontends if (may := frontend.may(model))]
            seen.looks += 1
            seen.broken += sum(given) - bound > len(given)
            if parts is not None and given:
                parts.append(sum(given) / bound)

    async def _change_on(self) -> None:
        while True:
            await asyncio.sleep(1.5)
            await random.choice((self._kill, self._leave, self._join, self._join, self._change_tritons))()

    async def _join(self) -> None:
        frontend = Frontend(self._url, self._size, self._there)
        await frontend.shared.start()
        self._frontends.append(frontend)

    async def _kill(self) -> None:
        """Its calls end with it; a last one lives on."""
        if len(self._frontends) > 1:
            await self._frontends.pop(random.randrange(len(self._frontends))).shared.die()

    async def _leave(self) -> None:
        if len(self._frontends) > 1:
            await self._frontends.pop(random.randrange(len(self._frontends))).shared.close()

    async def _change_tritons(self) -> None:
        """One goes and another comes; each frontend sees it within a second."""
        self._there.remove(random.choice(sorted(self._there)))
        self._there.add(random.choice([name for name in self._names if name not in self._there]))
        for frontend in self._frontends:
            self._loop.call_later(random.random(), partial(frontend.see, set(self._there)))
