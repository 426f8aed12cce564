"""How several frontends divide the slots of a model."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from hypothesis import given, strategies

from frontend.dispatch.shares import Demand, FixedShares, SharedShares, divide
from tests.redis import RedisServer

DEMANDS = strategies.dictionaries(strategies.text("abcdef", min_size=1), strategies.integers(0, 100), min_size=1)


@pytest.mark.parametrize(
    ("slots", "demands", "least", "shares"),
    [
        # Equal demands.
        (16, {"a": 50, "b": 50}, {}, {"a": 8, "b": 8}),
        # Who wants little leaves the rest to the others.
        (16, {"a": 2, "b": 50, "c": 50}, {}, {"a": 2, "b": 7, "c": 7}),
        # What nobody wants is divided evenly.
        (16, {"a": 0, "b": 0}, {}, {"a": 8, "b": 8}),
        (16, {"a": 4, "b": 0}, {}, {"a": 4 + 6, "b": 1 + 5}),
        # A lower bound is given whatever the others want, and changes nothing where it is met anyway.
        (8, {"a": 6, "b": 100}, {"a": 6}, {"a": 6, "b": 2}),
        (8, {"a": 100, "b": 100}, {"a": 3}, {"a": 4, "b": 4}),
    ],
)
def test_slots_are_divided_by_demand(
    slots: int, demands: dict[str, int], least: dict[str, int], shares: dict[str, int]
) -> None:
    assert divide(slots, demands, least) == shares


@given(strategies.integers(1, 200), DEMANDS)
def test_all_slots_are_given_and_each_has_one(slots: int, demands: dict[str, int]) -> None:
    given_ = divide(slots, demands)
    assert sum(given_.values()) == max(slots, len(demands))
    assert min(given_.values()) >= 1


@given(strategies.integers(1, 200), DEMANDS)
def test_nobody_has_more_than_it_wants_while_another_wants_more(slots: int, demands: dict[str, int]) -> None:
    given_ = divide(slots, demands)
    for name, its in given_.items():
        for other, wanted in demands.items():
            if wanted > given_[other] and its > demands[name]:
                assert its <= 1


def test_a_fixed_share_is_at_least_one() -> None:
    assert FixedShares(4, {}).own("m", 16) == 4
    assert FixedShares(4, {}).own("m", 2) == 1


def test_a_fixed_share_of_a_floor_is_rounded_up() -> None:
    assert FixedShares(4, {"m": {"acme": 6}}).floors("m") == {"acme": 2}


Floors = dict[str, dict[str, int]]


@asynccontextmanager
async def _beating(server: RedisServer, floors: Floors, *demands: Demand) -> AsyncIterator[list[SharedShares]]:
    """Frontends that want so much of a model, and know of each other."""
    made = [SharedShares(server.url, partial(dict, m=demand), floors) for demand in demands]
    for shares in (*made, made[0]):
        await shares.beat()
    yield made
    for shares in made:
        await shares.close()


@pytest.fixture
async def pair(redis_server: RedisServer) -> AsyncIterator[list[SharedShares]]:
    """Two frontends: the first wants 50 slots of a model, the second 2, one for acme, which has a floor of 4."""
    async with _beating(redis_server, {"m": {"acme": 4}}, Demand(50), Demand(2, {"acme": 1})) as made:
        yield made


async def test_frontends_divide_the_slots_by_what_they_want(pair: list[SharedShares]) -> None:
    first, second = pair
    assert (first.own("m", 16), second.own("m", 16)) == (14, 2)


async def test_a_floor_lies_where_its_owner_calls(redis_server: RedisServer) -> None:
    async with _beating(redis_server, {"m": {"acme": 6}}, Demand(50), Demand(9, {"acme": 9})) as (first, second):
        assert (first.floors("m"), second.floors("m")) == ({"acme": 1}, {"acme": 5})
        assert (first.own("m", 8), second.own("m", 8)) == (3, 5)


@pytest.mark.parametrize(
    ("floors", "owners", "slots", "expected"),
    [
        # What an owner does not use of its floor is for the others.
        ({"acme": 6}, {"acme": 1}, 8, (7, 1)),
        # The floors of two owners in one frontend add up.
        ({"acme": 5, "zenith": 5}, {"acme": 5, "zenith": 5}, 10, (2, 8)),
    ],
)
async def test_a_frontend_has_what_the_floors_of_its_callers_need(
    redis_server: RedisServer, floors: dict[str, int], owners: dict[str, int], slots: int, expected: tuple[int, int]
) -> None:
    demands = Demand(50), Demand(sum(owners.values()), owners)
    async with _beating(redis_server, {"m": floors}, *demands) as (first, second):
        assert (first.own("m", slots), second.own("m", slots)) == expected


async def test_a_floor_that_nobody_uses_is_divided_evenly(redis_server: RedisServer) -> None:
    async with _beating(redis_server, {"m": {"acme": 4}}, Demand(0), Demand(0)) as pair:
        assert [shares.floors("m") for shares in pair] == [{"acme": 2}, {"acme": 2}]


async def test_a_frontend_that_ends_leaves_its_slots_to_the_others(pair: list[SharedShares]) -> None:
    first, second = pair
    await second.close()
    await first.beat()
    assert first.own("m", 16) == 16


async def test_a_frontend_that_is_killed_is_forgotten_after_three_seconds(pair: list[SharedShares]) -> None:
    await asyncio.sleep(4.1)
    await pair[0].beat()
    assert pair[0].own("m", 16) == 16


async def test_the_last_shares_hold_while_redis_is_away(pair: list[SharedShares], redis_server: RedisServer) -> None:
    first, _ = pair
    redis_server.kill()
    try:
        await first.beat()
        assert first.own("m", 16) == 14
    finally:
        redis_server.start()
