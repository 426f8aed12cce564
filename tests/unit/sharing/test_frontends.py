"""Shares of frontends over the same Tritons, with a real Redis whose clock tests set."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import cast

import pytest

from frontend.peers.frontends import FixedFrontends, Share
from frontend.sharing import frontends as module
from frontend.sharing.frontends import SharedFrontends
from tests.eventually import until
from tests.redis import RedisServer

_NOW = "redis.call('TIME')"
# Heartbeats until all know the models in use.
_HEARD = 4


class Frontend(SharedFrontends):
    """A frontend that uses ``models``, with the work of an execution of each."""

    def __init__(self, url: str, models: dict[str, float]) -> None:
        super().__init__(url, lambda: self.models, self._changes)
        self.models = models
        self.changes = 0

    def _changes(self) -> None:
        self.changes += 1

    @property
    def share(self) -> float:
        return self.share_of("m").fraction


class Fleet:
    """Frontends in their own Redis. A test sends their heartbeats, half a second apart."""

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
        """Send so many heartbeats of these frontends, or of all."""
        for _ in range(count):
            self._now += 0.5
            clock = f"{{'{int(self._now)}', '{int(self._now % 1 * 1e6)}'}}"
            for frontend in frontends or self.frontends:
                frontend._script = frontend.redis.register_script(self._script.replace(_NOW, clock))
                await frontend.beat()
                # Shares never overlap.
                assert sum(each.share for each in self.frontends if each._snapshots) <= 1 + 1e-9

    def shares(self) -> list[float]:
        return [frontend.share for frontend in self.frontends]


@contextmanager
def _away(redis_server: RedisServer) -> Iterator[None]:
    redis_server.kill()
    try:
        yield
    finally:
        redis_server.start()


@pytest.fixture
async def fleet(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    monkeypatch.setattr(module, "_HASH", f"frontends {uuid.uuid4()}")
    made = Fleet(redis_server.url, monkeypatch)
    async with made.closing:
        yield made


def test_a_fixed_number_of_frontends_has_equal_shares() -> None:
    share = FixedFrontends(4).share_of("m")
    assert share == Share(0.25, share.number, 4)


def test_a_fixed_number_of_frontends_has_random_numbers() -> None:
    assert {FixedFrontends(3).share_of("m").number for _ in range(100)} == {0, 1, 2}


async def test_the_only_frontend_has_all_at_once(fleet: Fleet) -> None:
    fleet.join()
    await fleet.beat()
    assert fleet.shares() == [1]


async def test_the_frontends_that_use_a_model_have_equal_shares(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.join(m=1.0)
    fleet.join(other=1.0)
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == [pytest.approx(1 / 3)] * 3 + [0]
    assert fleet.frontends[3].share_of("other").fraction == 1


async def test_a_frontend_that_begins_has_one_call_in_flight_until_the_others_know(fleet: Fleet) -> None:
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


async def test_two_that_begin_together_have_half_each_when_all_know(fleet: Fleet) -> None:
    fleet.join(), fleet.join(), fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    for frontend in fleet.frontends[:2]:
        frontend.models = {"m": 1.0}
    fleet.frontends[2].models = {}
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == [0.5, 0.5, 0]


async def test_all_frontends_share_an_unused_model_for_bulk_work(fleet: Fleet) -> None:
    fleet.join(), fleet.join()
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == [0.5, 0.5]
    fleet.join()
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == [pytest.approx(1 / 3)] * 3
    fleet.frontends[0].models = {"m": 1.0}
    await fleet.beat()
    # The others leave it at once. It keeps its share until all know.
    assert fleet.shares() == [pytest.approx(1 / 3), 0, 0]
    await fleet.beat(count=2)
    assert fleet.shares() == [1, 0, 0]


async def test_a_frontend_that_stops_using_a_model_releases_its_share(fleet: Fleet) -> None:
    fleet.join(m=1.0), fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    fleet.frontends[1].models = {}
    await fleet.beat(count=2)
    assert fleet.shares() == [1, 0]


async def test_each_frontend_has_another_number(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.join()
    await fleet.beat(count=2)
    shares = [frontend.share_of("m") for frontend in fleet.frontends]
    assert {(share.number, share.count) for share in shares} == {(0, 3), (1, 3), (2, 3)}


async def test_frontends_know_whether_others_use_a_model(fleet: Fleet) -> None:
    fleet.join(m=1.0), fleet.join()
    await fleet.beat(count=2)
    assert [frontend.share_of("m").is_used_elsewhere for frontend in fleet.frontends] == [False, True]


async def test_all_use_the_batch_work_of_the_first_user(fleet: Fleet) -> None:
    for work in (100.0, 200.0, 400.0):
        fleet.join(m=work)
    fleet.join()
    await fleet.beat(count=2)
    first = min(fleet.frontends[:3], key=lambda frontend: frontend.name)
    followed = {frontend.share_of("m").batch for frontend in fleet.frontends if frontend is not first}
    assert first.share_of("m").batch is None
    assert followed == {first.models["m"]}


async def test_a_frontend_that_leaves_is_forgotten_at_once(fleet: Fleet) -> None:
    fleet.join(m=1.0), fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    leaving = fleet.frontends.pop()
    await leaving._publish(b"")
    await fleet.beat()
    assert fleet.shares() == [1]


async def test_the_share_of_a_dead_frontend_is_used_within_three_seconds(fleet: Fleet) -> None:
    fleet.join(m=1.0), fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    living = fleet.frontends[0]
    await fleet.beat(living, count=4)
    # Two seconds may be a busy machine.
    assert living.share == 0.5
    fleet.frontends.pop()
    await fleet.beat(living)
    assert living.share == 1


async def test_shares_stay_while_redis_is_away(fleet: Fleet, redis_server: RedisServer) -> None:
    fleet.join(m=1.0), fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    changes = fleet.frontends[0].changes
    with _away(redis_server):
        await fleet.beat()
        assert fleet.shares() == [0.5, 0.5]
        assert fleet.frontends[0].changes == changes


async def test_shares_do_not_overlap_after_an_outage(fleet: Fleet, redis_server: RedisServer) -> None:
    for _ in range(3):
        fleet.join(m=1.0)
    await fleet.beat(count=_HEARD)
    with _away(redis_server):
        await fleet.beat(count=5)
    for _ in range(2):
        await fleet.beat()
        assert sum(fleet.shares()) <= 1
    await fleet.beat(count=_HEARD)
    assert fleet.shares() == pytest.approx([1 / 3] * 3)


async def test_a_frontend_that_never_reached_redis_takes_all(fleet: Fleet, redis_server: RedisServer) -> None:
    one = fleet.join(m=1.0)
    with _away(redis_server):
        await fleet.beat()
        assert one.share == 1


async def test_frontends_send_heartbeats_by_themselves_and_leave_when_closed(
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


@pytest.mark.parametrize(
    "entry", ["", "x", "{now} [1", "{now} 5", '{now} {{"m": "x"}}', '{later} {{"m": 1}}', "nan {{}}"], ids=repr
)
async def test_what_no_frontend_has_written_is_no_frontend(fleet: Fleet, entry: str) -> None:
    frontend = fleet.join(m=1)
    await fleet.beat(count=_HEARD)
    written = frontend.redis.hset(module._HASH, "stranger", entry.format(now="1002.5", later="9999999"))
    await cast(Awaitable[int], written)
    await fleet.beat()
    assert (frontend.count, frontend.share) == (1, 1.0)
