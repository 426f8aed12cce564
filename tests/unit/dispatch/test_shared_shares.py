"""How frontends that hear of each other divide the slots of a model, over a real Redis whose clock tests move."""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from frontend.dispatch import heartbeat
from frontend.dispatch.division import Offer, View
from frontend.dispatch.shared_shares import SharedShares
from frontend.dispatch.shares import Demand
from tests.redis import RedisServer

_NOW = "redis.call('TIME')"


class Frontend:
    """One that wants so much of one model, and sees these Tritons."""

    def __init__(self, url: str, demand: Demand, floors: dict[str, int], view: View) -> None:
        self.demand, self.view = demand, view
        self.shares = SharedShares(url, lambda: {"m": (self.demand, self.view)}, lambda: None, {"m": floors})

    @property
    def hears_of_use(self) -> bool:
        return self.shares.elsewhere("m")

    @property
    def own(self) -> dict[str, int]:
        return {name: slots for name, slots in self.shares.own("m", self.view).items() if slots}


class Fleet:
    """Frontends in a Redis of their own; each beat comes when a test says so, and is late: shares change at once."""

    def __init__(self, url: str, patch: pytest.MonkeyPatch) -> None:
        self._url, self._patch, self._beat = url, patch, 1_000
        self._script = heartbeat._TELL
        assert _NOW in self._script
        self.frontends: list[Frontend] = []
        self.closing = AsyncExitStack()
        self._set_clock()

    def _set_clock(self) -> None:
        clock = f"{{'{self._beat}', '900000'}}"
        self._patch.setattr(heartbeat, "_TELL", self._script.replace(_NOW, clock))

    def join(
        self, calls: int, owners: dict[str, int] | None = None, floors: dict[str, int] | None = None, slots: int = 16
    ) -> Frontend:
        view = View({"x": Offer(slots // 2), "y": Offer(slots - slots // 2)})
        made = Frontend(self._url, Demand(calls, owners or {}), floors or {}, view)
        self.closing.push_async_callback(made.shares.close)
        self.frontends.append(made)
        return made

    async def beat(self, *frontends: Frontend) -> None:
        """Another second has passed, and these tell, or all."""
        self._beat += 1
        self._set_clock()
        for frontend in frontends or self.frontends:
            beating = frontend.shares._heartbeat
            beating._script = beating._redis.register_script(heartbeat._TELL)
            await frontend.shares.beat()
        # Changes that are late come in the next turns of the loop.
        await asyncio.sleep(0.01)

    def totals(self) -> list[int]:
        return [sum(frontend.own.values()) for frontend in self.frontends]

    def given(self) -> Counter[str]:
        """The slots of each Triton that some frontend has."""
        return sum((Counter(frontend.own) for frontend in self.frontends), Counter())


@pytest.fixture
async def fleet(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    monkeypatch.setattr(heartbeat, "_HASH", f"shares {uuid.uuid4()}")
    made = Fleet(redis_server.url, monkeypatch)
    async with made.closing:
        yield made


async def test_frontends_divide_the_slots_by_what_they_want(fleet: Fleet) -> None:
    fleet.join(50), fleet.join(2)
    await fleet.beat()
    await fleet.beat()
    assert fleet.totals() == [14, 2]


async def test_the_only_frontend_has_all_at_once(fleet: Fleet) -> None:
    one = fleet.join(0)
    await fleet.beat()
    assert one.own == {"x": 8, "y": 8}
    assert one.shares.homes("m", one.view) == frozenset()


async def test_each_frontend_has_a_triton_that_it_fills_first(fleet: Fleet) -> None:
    one, other = fleet.join(0), fleet.join(0)
    await fleet.beat()
    await fleet.beat()
    found = [frontend.shares.homes("m", frontend.view) for frontend in (one, other)]
    assert sorted(found, key=sorted) == [{"x"}, {"y"}]


async def test_one_that_joins_has_nothing_until_the_others_know(fleet: Fleet) -> None:
    fleet.join(5)
    await fleet.beat()
    fleet.join(5)
    await fleet.beat()
    assert fleet.totals() == [16, 0]
    await fleet.beat()
    assert fleet.totals() == [8, 8]


async def test_two_that_begin_in_one_beat_never_have_more_than_there_is(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.join(5)
    for _ in range(3):
        await fleet.beat()
        assert fleet.given() == {"x": 8, "y": 8}


async def test_all_count_what_had_been_told_when_the_beat_began(fleet: Fleet) -> None:
    one, two = fleet.join(50), fleet.join(2)
    await fleet.beat()
    await fleet.beat()
    two.demand = Demand(50)
    await fleet.beat(two, one)
    assert fleet.totals() == [14, 2]
    await fleet.beat()
    assert fleet.totals() == [8, 8]


async def test_a_triton_that_only_some_see_is_divided_as_any(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.join(9)
    await fleet.beat()
    await fleet.beat()
    fleet.frontends[0].view = View({"x": Offer(8), "y": Offer(8), "z": Offer(8)})
    for _ in range(3):
        assert all(slots <= 8 for slots in fleet.given().values())
        await fleet.beat()
    for frontend in fleet.frontends[1:]:
        frontend.view = fleet.frontends[0].view
    for _ in range(3):
        assert fleet.given() == {"x": 8, "y": 8, "z": 8}
        await fleet.beat()
    assert fleet.totals() == [8, 8, 8]


async def test_a_frontend_that_ends_leaves_its_slots_to_the_others(fleet: Fleet) -> None:
    fleet.join(50)
    two = fleet.join(2)
    await fleet.beat()
    await fleet.beat()
    await two.shares._heartbeat.tell(None)
    await fleet.beat(fleet.frontends[0])
    assert sum(fleet.frontends[0].own.values()) == 16


async def test_a_frontend_that_is_killed_is_forgotten_after_three_beats(fleet: Fleet) -> None:
    one, _ = fleet.join(50), fleet.join(2)
    await fleet.beat()
    for _ in range(3):
        await fleet.beat(one)
        assert sum(one.own.values()) == 14
    await fleet.beat(one)
    assert sum(one.own.values()) == 16


async def test_the_last_shares_hold_while_redis_is_away(fleet: Fleet, redis_server: RedisServer) -> None:
    one, _ = fleet.join(50), fleet.join(2)
    await fleet.beat()
    await fleet.beat()
    redis_server.kill()
    try:
        await fleet.beat()
        assert fleet.totals() == [14, 2]
    finally:
        redis_server.start()
    await fleet.beat()
    assert sum(one.own.values()) == 14


async def test_a_floor_lies_where_its_owner_calls(fleet: Fleet) -> None:
    floors = {"acme": 6}
    one, two = fleet.join(50, {}, floors, slots=8), fleet.join(9, {"acme": 9}, floors, slots=8)
    await fleet.beat()
    await fleet.beat()
    assert (one.shares.floors("m"), two.shares.floors("m")) == ({"acme": 1}, {"acme": 5})
    assert fleet.totals() == [3, 5]


@pytest.mark.parametrize(
    ("floors", "owners", "slots", "expected"),
    [
        # What an owner does not use of its floor is for the others.
        ({"acme": 6}, {"acme": 1}, 8, [7, 1]),
        # The floors of two owners in one frontend add up.
        ({"acme": 5, "zenith": 5}, {"acme": 5, "zenith": 5}, 10, [2, 8]),
    ],
)
async def test_a_frontend_has_what_the_floors_of_its_callers_need(
    fleet: Fleet, floors: dict[str, int], owners: dict[str, int], slots: int, expected: list[int]
) -> None:
    fleet.join(50, {}, floors, slots), fleet.join(sum(owners.values()), owners, floors, slots)
    await fleet.beat()
    await fleet.beat()
    assert fleet.totals() == expected


async def test_all_go_over_to_other_shares_in_the_middle_of_a_beat(redis_server: RedisServer) -> None:
    view = View({"x": Offer(8)})
    pair = [Frontend(redis_server.url, Demand(4), {}, view) for _ in range(2)]
    for frontend in pair:
        await frontend.shares.start()
    assert all(frontend.own for frontend in pair)
    async with asyncio.timeout(20):
        while [sum(frontend.own.values()) for frontend in pair] != [4, 4]:
            assert sum(sum(frontend.own.values()) for frontend in pair) <= 8
            await asyncio.sleep(0.005)
    for frontend in pair:
        await frontend.shares.close()


async def test_frontends_hear_which_others_have_callers(fleet: Fleet) -> None:
    one, two = fleet.join(0), fleet.join(0)
    two.demand = Demand(0, is_used=True)
    for _ in range(3):
        await fleet.beat()
    assert (one.hears_of_use, two.hears_of_use) == (True, False)
