"""Frontends over the same Tritons divide their slots by what each of them could use now."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from zlib import crc32

from frontend.dispatch.division import View, apart, divide, homes, spread
from frontend.dispatch.heartbeat import Heartbeat, Told
from frontend.dispatch.shares import Demand, Floors
from frontend.observe.stores import REDIS_AWAY
from frontend.processes.background import Repeating

_BEAT_SECONDS = 1.0
# Frontends tell at moments of their own in the first quarter of a beat. In its middle all give up what is theirs no
# more, and a moment later, when the slowest has, they take what has become theirs.
_TELLING_SECONDS = 0.25
_GIVE_UP_SECONDS, _TAKE_SECONDS = 0.5, 0.6
# How long a start waits for its first shares: those of the next beat, or of the one after.
_JOIN_SECONDS = 3.0
# For how many beats a slot that goes round stays with a frontend.
_TURN_BEATS = 2


@dataclass(frozen=True)
class _Beat:
    """What is known of one model: what its frontends want in all and for owners of floors, which of them use it, their
    zones, and the view that all have, if they do. ``parts`` are this frontend's slots of views that were asked for.
    """

    turn: int
    calls: Mapping[str, int]
    owners: Mapping[str, Mapping[str, int]]
    users: frozenset[str]
    zones: Mapping[str, str]
    agreed: View | None
    parts: dict[View, dict[str, int]] = field(default_factory=dict)


# By model; None where this frontend is the only one.
_Beats = Mapping[str, _Beat] | None


class SharedShares:
    """``tells`` gives what of each model waits or runs here and which Tritons have it; ``changed`` hears of a new beat.

    While Redis is away, the last shares hold; a frontend that has never reached it takes all.
    """

    def __init__(
        self,
        url: str,
        tells: Callable[[], Mapping[str, tuple[Demand, View]]],
        changed: Callable[[], None],
        floors: Floors,
        zone: str = "",
    ) -> None:
        self._name = uuid.uuid4().hex
        self._heartbeat = Heartbeat(url, self._name)
        self._tells, self._changed, self._floors, self._zone = tells, changed, floors, zone
        self._views: Mapping[str, View] = {}
        # What holds; and what is given up of that, for a moment.
        self._beats: _Beats = None
        self._before: _Beats = None
        self._is_first, self._due = True, 0.0
        self._joined = asyncio.Event()
        self._changes: list[asyncio.TimerHandle] = []
        self._repeating = Repeating(0.0, self._next)

    async def start(self) -> None:
        """Tell once, then again and again; returns when the others have made room for this frontend."""
        await self.beat()
        self._repeating.start()
        if self._beats is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_JOIN_SECONDS):
                    await self._joined.wait()

    async def close(self) -> None:
        """Leave the slots to the others."""
        await self._repeating.close()
        for change in self._changes:
            change.cancel()
        with suppress(*REDIS_AWAY):
            await self._heartbeat.tell(None)
        await self._heartbeat.close()

    def own(self, model: str, view: View) -> dict[str, int]:
        """How many slots of each Triton this frontend has: none until the others have heard of it."""
        own = self._part(model, view, self._beats)
        if self._before is self._beats:
            return own
        before = self._part(model, view, self._before)
        return {name: min(slots, before.get(name, 0)) for name, slots in own.items()}

    def homes(self, model: str, view: View) -> frozenset[str]:
        """Its part of the Tritons of its zone; none where it is the only one, or has not heard of the others."""
        beat = self._beats.get(model) if self._beats is not None else None
        return homes(self._name, beat.zones, view) if beat is not None else frozenset()

    def floors(self, model: str) -> dict[str, int]:
        """How much of each owner's floor this frontend keeps: by where the owner's calls are."""
        beat = self._beats.get(model) if self._beats is not None else None
        if beat is None:
            return dict(self._floors.get(model, {}))
        return {owner: self._floor(model, owner, beat)[self._name] for owner in self._floors.get(model, {})}

    def elsewhere(self, model: str) -> bool:
        """Whether other frontends had calls of a model, which are no bulk work, a moment before this beat began."""
        beat = self._beats.get(model) if self._beats is not None else None
        return beat is not None and bool(beat.users - {self._name})

    def _part(self, model: str, view: View, beats: _Beats) -> dict[str, int]:
        if beats is None:
            return {name: offer.slots for name, offer in view.offers.items()}
        beat = beats.get(model)
        if beat is None:
            return {}
        if view not in beat.parts:
            beat.parts[view] = self._divided(model, view, beat)
        return beat.parts[view]

    def _divided(self, model: str, view: View, beat: _Beat) -> dict[str, int]:
        if beat.agreed is None:
            return apart(self._name, beat.calls, view, beat.turn)
        shares = divide(beat.agreed.slots, beat.calls, self._least(model, beat), beat.turn)
        own = spread(self._name, shares, beat.zones, beat.agreed)
        since = {name: offer for name, offer in view.offers.items() if beat.agreed.offers.get(name) != offer}
        return own | apart(self._name, beat.calls, View(since), beat.turn) if since else own

    def _least(self, model: str, beat: _Beat) -> dict[str, int]:
        least: Counter[str] = Counter()
        for owner in self._floors.get(model, {}):
            for name, floor in self._floor(model, owner, beat).items():
                least[name] += min(floor, beat.owners[name].get(owner, 0))
        return least

    def _floor(self, model: str, owner: str, beat: _Beat) -> dict[str, int]:
        wants = {name: owners.get(owner, 0) for name, owners in beat.owners.items()}
        return divide(self._floors[model][owner], wants, turn=beat.turn)

    async def _next(self) -> None:
        await asyncio.sleep(self._due - asyncio.get_running_loop().time())
        await self.beat()

    async def beat(self) -> None:
        """Say what this frontend wants, and learn what is to be divided from the middle of this beat on."""
        loop = asyncio.get_running_loop()
        self._due = loop.time() + _BEAT_SECONDS
        tells = self._tells()
        words = {
            model: [demand.calls, demand.owners, view.digest, demand.is_used] for model, (demand, view) in tells.items()
        }
        with suppress(*REDIS_AWAY):
            told = await self._heartbeat.tell({"zone": self._zone, "models": words})
            own_moment = crc32(self._name.encode()) % 1000 / 1000 * _TELLING_SECONDS
            self._due = loop.time() + _BEAT_SECONDS - told.seconds + own_moment
            self._plan(told)
            self._views = {model: view for model, (_, view) in tells.items()}

    def _plan(self, told: Told) -> None:
        was_first, self._is_first = self._is_first, False
        if self._name not in told.words:
            if was_first:
                # Nobody counts on this one yet; those that begin in this beat too see it.
                self._beats = self._before = {} if told.others else None
            return
        beats: _Beats = None
        if len(told.words) > 1:
            beats = {model: self._beat(model, told) for model in told.words[self._name]["models"]}
        for change in self._changes:
            change.cancel()
        loop = asyncio.get_running_loop()
        self._changes = [
            loop.call_later(_GIVE_UP_SECONDS - told.seconds, self._give_up, beats),
            loop.call_later(_TAKE_SECONDS - told.seconds, self._take, beats),
        ]

    def _give_up(self, beats: _Beats) -> None:
        self._before, self._beats = self._beats, beats
        self._changed()

    def _take(self, beats: _Beats) -> None:
        self._before = beats
        self._joined.set()
        self._changed()

    def _beat(self, model: str, told: Told) -> _Beat:
        its = {name: words["models"][model] for name, words in told.words.items() if model in words["models"]}
        calls = {name: said[0] for name, said in its.items()}
        owners = {name: said[1] for name, said in its.items()} if model in self._floors else {}
        # A frontend of an older version does not say it.
        users = frozenset(name for name, said in its.items() if said[3:] == [True])
        view = self._views.get(model)
        agreed = view if view is not None and {said[2] for said in its.values()} == {view.digest} else None
        zones = {name: told.words[name]["zone"] for name in its}
        return _Beat(told.number // _TURN_BEATS, calls, owners, users, zones, agreed)
