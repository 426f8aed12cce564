"""What frontends over the same Tritons tell each other, over a real Redis whose clock tests move."""

import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from frontend.peers import frontends as module
from frontend.peers.frontends import FixedFrontends, Part, SharedFrontends
from tests.eventually import until
from tests.redis import RedisServer

_NOW = "redis.call('TIME')"
# Beats until all have heard of what is used.
_HEARD = 4


class Frontend(SharedFrontends):
    """One that uses ``models``, each with so much work in an execution."""

    def __init__(self, url: str, models: dict[str, float]) -> None:
        super().__init__(url, lambda: self.models, self._changes)
        self.models = models
        self.changes = 0

    def _changes(self) -> None:
        self.changes += 1

    @property
    def share(self) -> float:
        return self.part("m").share


class Fleet:
    """Frontends in a Redis of their own; each beat comes when a test says so, half a second after the last."""

    def __init__(self, url: str, patch: pytest.MonkeyPatch) -> None:
        self._url, self._patch, self._script = url, patch, module._PUBLISH
        assert _NOW in self._script
        self._now = 1_000.0
        self.frontends: list[Frontend] = []
        self.closing = AsyncExitStack()

    def join(self, **models: float) -> Frontend:
        made = Frontend(self._url, models)
        self.closing.push_async_callback(made.close)
        self.frontends.append(made)
        return made

    async def beat(self, *frontends: Frontend, count: int = 1) -> None:
        """These tell, or all, so many times."""
        for _ in range(count):
            self._now += 0.5
            clock = f"{{'{int(self._now)}', '{int(self._now % 1 * 1e6)}'}}"
            for frontend in frontends or self.frontends:
                frontend._script = frontend.redis.register_script(self._script.replace(_NOW, clock))
                await frontend.beat()
                # Never do two have the same part.
                assert sum(each.share for each in self.frontends if each._snapshots) <= 1 + 1e-9

    def shares(self) -> list[float]:
        return [frontend.share for frontend in self.frontends]


@pytest.fixture
async def fleet(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    monkeypatch.setattr(module, "_HASH", f"frontends {uuid.uuid4()}")
    made = Fleet(redis_server.url, monkeypatch)
    async with made.closing:
        yield made


def test_of_a_number_that_was_set_each_has_an_equal_part() -> None:
    part = FixedFrontends(4).part("m")
    assert part == Part(0.25, part.number, 4)


def test_of_a_number_that_was_set_each_begins_with_a_triton_by_chance() -> None:
    assert {FixedFrontends(3).part("m").number for _ in range(100)} == {0, 1, 2}


async def test_the_only_frontend_has_all_at_once(fleet: Fleet) -> None:
    fleet.join()
    await fleet.beat()
    assert fleet.shares() == [1]


async def test_those_that_use_a_model_have_equal_parts_of_it(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.join(m=1.0)
    fleet.join(other=1.0)
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == [pytest.approx(1 / 3)] * 3 + [0]
    assert fleet.frontends[3].part("other").share == 1


async def test_one_that_begins_has_one_call_at_a_time_until_the_others_have_heard(fleet: Fleet) -> None:
    fleet.join(m=1.0), fleet.join()
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == [1, 0]
    fleet.frontends[1].models = {"m": 1.0}
    await fleet.beat(fleet.frontends[1])
    assert fleet.shares() == [1, 0]
    await fleet.beat()
    assert fleet.shares() == [0.5, 0]
    await fleet.beat(count=2)
    assert fleet.shares() == [0.5, 0.5]


async def test_two_that_begin_in_one_beat_have_half_each_once_all_have_heard(fleet: Fleet) -> None:
    fleet.join(), fleet.join(), fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    for frontend in fleet.frontends[:2]:
        frontend.models = {"m": 1.0}
    fleet.frontends[2].models = {}
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == [0.5, 0.5, 0]


async def test_a_model_that_nobody_uses_is_all_frontends_for_their_bulk_work(fleet: Fleet) -> None:
    fleet.join(), fleet.join()
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == [0.5, 0.5]
    fleet.join()
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == [pytest.approx(1 / 3)] * 3
    fleet.frontends[0].models = {"m": 1.0}
    await fleet.beat()
    # The others leave it at once, and it has its own part until all have heard.
    assert fleet.shares() == [pytest.approx(1 / 3), 0, 0]
    await fleet.beat(count=2)
    assert fleet.shares() == [1, 0, 0]


async def test_one_that_uses_a_model_no_more_leaves_it_to_the_others(fleet: Fleet) -> None:
    fleet.join(m=1.0), fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    fleet.frontends[1].models = {}
    await fleet.beat(count=2)
    assert fleet.shares() == [1, 0]


async def test_frontends_are_numbered_each_in_another_place(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.join()
    await fleet.beat(count=2)
    parts = [frontend.part("m") for frontend in fleet.frontends]
    assert {(part.number, part.count) for part in parts} == {(0, 3), (1, 3), (2, 3)}


async def test_frontends_hear_which_others_have_callers(fleet: Fleet) -> None:
    fleet.join(m=1.0), fleet.join()
    await fleet.beat(count=2)
    assert [frontend.part("m").is_used_elsewhere for frontend in fleet.frontends] == [False, True]


async def test_all_follow_the_size_of_an_execution_that_the_first_user_has(fleet: Fleet) -> None:
    for work in (100.0, 200.0, 400.0):
        fleet.join(m=work)
    fleet.join()
    await fleet.beat(count=2)
    first = min(fleet.frontends[:3], key=lambda frontend: frontend.name)
    followed = {frontend.part("m").batch for frontend in fleet.frontends if frontend is not first}
    assert first.part("m").batch is None
    assert followed == {first.models["m"]}


async def test_who_leaves_is_forgotten_at_once(fleet: Fleet) -> None:
    fleet.join(m=1.0), fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    leaving = fleet.frontends.pop()
    await leaving._publish(b"")
    await fleet.beat()
    assert fleet.shares() == [1]


async def test_the_part_of_one_that_died_is_in_use_within_three_seconds(fleet: Fleet) -> None:
    fleet.join(m=1.0), fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    living = fleet.frontends[0]
    await fleet.beat(living, count=4)
    # Two seconds may be a busy machine's.
    assert living.share == 0.5
    fleet.frontends.pop()
    await fleet.beat(living)
    assert living.share == 1


async def test_the_last_parts_hold_while_redis_is_away(fleet: Fleet, redis_server: RedisServer) -> None:
    fleet.join(m=1.0), fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    changes = fleet.frontends[0].changes
    redis_server.kill()
    try:
        await fleet.beat()
        assert fleet.shares() == [0.5, 0.5]
        assert fleet.frontends[0].changes == changes
    finally:
        redis_server.start()


async def test_after_an_outage_each_has_one_call_until_all_have_told_again(
    fleet: Fleet, redis_server: RedisServer
) -> None:
    for _ in range(3):
        fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    redis_server.kill()
    try:
        await fleet.beat(count=5)
    finally:
        redis_server.start()
    for _ in range(2):
        await fleet.beat()
        assert sum(fleet.shares()) <= 1
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == pytest.approx([1 / 3] * 3)


async def test_one_that_has_never_reached_redis_takes_all(fleet: Fleet, redis_server: RedisServer) -> None:
    one = fleet.join(m=1.0)
    redis_server.kill()
    try:
        await fleet.beat()
        assert one.share == 1
    finally:
        redis_server.start()


async def test_they_beat_by_themselves_and_leave_when_they_are_closed(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_HASH", f"frontends {uuid.uuid4()}")
    pair = [Frontend(redis_server.url, {"m": 1.0}) for _ in range(2)]
    for frontend in pair:
        await frontend.start()
    await until(lambda: [frontend.share for frontend in pair] == [0.5, 0.5])
    await pair[1].close()
    await until(lambda: pair[0].share == 1)
    await pair[0].close()
