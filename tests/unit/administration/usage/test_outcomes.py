import asyncio
import math
import random
from collections import Counter
from collections.abc import Callable

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access.caller import Caller
from frontend.administration.usage import outcomes as module
from frontend.administration.usage.outcomes import BOUNDS, Outcomes, class_of, outcome_of, percentile
from frontend.administration.usage.queries import UsageFilter, UsageQueries
from frontend.database.engine import open_engine
from tests.samples import Change

_EVER = ("1970-01-01", "2999-12-31")
_ACME, _ALONE = Caller("one", "one", org="acme"), Caller("two", "two")


async def _told(queries: UsageQueries, **scope: str) -> dict[str, dict[str, int]]:
    """Outcomes by operation, without zeros."""
    found = await queries.outcomes(UsageFilter(*_EVER, **scope))
    return {each.operation: {name: count for name, count in each.counts.items() if count} for each in found}


async def test_counts_of_two_frontends_add_up(engine: AsyncEngine, queries: UsageQueries, empty_database: str) -> None:
    other = open_engine(empty_database)
    frontends = [Outcomes(engine), Outcomes(other)]
    for frontend, times in zip(frontends, ([0.1] * 9, [30.0]), strict=True):
        for seconds in times:
            frontend.count(_ACME, "speech", "answered", seconds)
        frontend.count(_ACME, "speech", "refused", 0.0)
        frontend.count(_ACME, "rerank", "failed", 0.0)
    # At once, and each in more than one step.
    await asyncio.gather(*(frontend.close() for frontend in frontends))
    frontends[0].count(_ACME, "speech", "hung_up", 5.0)
    await frontends[0].close()
    assert await _told(queries, org="acme") == {
        "rerank": {"failed": 2},
        "speech": {"answered": 10, "refused": 2, "hung_up": 1},
    }
    (speech,) = [each for each in await queries.outcomes(UsageFilter(*_EVER)) if each.operation == "speech"]
    assert percentile(speech.times, 0.5) == pytest.approx(0.1, rel=0.19)
    assert percentile(speech.times, 0.95) == pytest.approx(30, rel=0.19)
    await other.dispose()


async def test_a_key_or_organisation_sees_only_its_own_outcomes(engine: AsyncEngine, queries: UsageQueries) -> None:
    frontend = Outcomes(engine)
    frontend.count(_ACME, "speech", "answered", 1.0)
    frontend.count(_ALONE, "speech", "mistaken", 1.0)
    await frontend.close()
    assert await _told(queries, org="acme") == {"speech": {"answered": 1}}
    assert await _told(queries, key_id="two") == {"speech": {"mistaken": 1}}
    assert await _told(queries, org="zenith") == {}


async def test_other_days_are_left_out(engine: AsyncEngine, queries: UsageQueries) -> None:
    frontend = Outcomes(engine)
    frontend.count(_ALONE, "speech", "answered", 1.0)
    await frontend.close()
    assert await queries.outcomes(UsageFilter("1970-01-01", "1999-12-31", key_id="two")) == []


async def test_counts_wait_during_an_outage_in_bounded_memory(
    engine: AsyncEngine, queries: UsageQueries, broken: Callable[[], None], mended: Callable[[], None]
) -> None:
    frontend, lost = Outcomes(engine), Change("quartet_outcomes_lost_total")
    with pytest.MonkeyPatch.context() as bounded:
        bounded.setattr(module, "_MOST_ROWS", 3)
        broken()
        for number in range(5):
            for _ in range(2):
                frontend.count(Caller(str(number), "many"), "speech", "answered", 1.0)
            await frontend._write_all()
        assert (len(frontend._waiting), lost.by) == (3, 4)
    mended()
    await frontend.close()
    assert (await _told(queries), lost.by) == ({"speech": {"answered": 6}}, 4)


async def test_lost_counts_are_in_a_metric(engine: AsyncEngine, broken: Callable[[], None]) -> None:
    frontend, lost = Outcomes(engine), Change("quartet_outcomes_lost_total")
    frontend.count(_ALONE, "speech", "failed", 1.0)
    broken()
    await frontend.close()
    assert lost.by == 1


@pytest.mark.parametrize(
    ("status", "reason", "outcome"),
    [
        (200, "", "answered"),
        (400, "body", "mistaken"),
        (413, "", "mistaken"),
        (429, "limit", "refused"),
        (429, "balance", "refused"),
        (502, "queue", "refused"),
        (502, "", "failed"),
        (499, "queue", "hung_up"),
    ],
)
def test_a_refusal_that_can_be_sent_again_is_no_mistake(status: int, reason: str, outcome: str) -> None:
    assert outcome_of(status, reason) == outcome


_WIDTH = 2**0.25


def _counts(times: list[float]) -> Counter[int]:
    return Counter(map(class_of, times))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_a_percentile_is_off_by_a_fifth_at_most(seed: int, share: float) -> None:
    draw = random.Random(seed)
    times = sorted(min(200.0, max(0.003, draw.lognormvariate(-1, 2))) for _ in range(draw.randint(1, 2_000)))
    true = times[math.ceil(share * len(times)) - 1]
    told = percentile(_counts(times), share)
    assert told is not None
    # To the nearest tenth of a millisecond.
    assert true / _WIDTH - 1e-4 < told < true * _WIDTH + 1e-4


def test_histograms_can_be_added() -> None:
    some, others = [0.1] * 90, [20.0] * 10
    both = _counts(some) + _counts(others)
    assert (percentile(both, 0.5), percentile(both, 0.95)) == (
        percentile(_counts(some), 0.5),
        percentile(_counts(others), 0.5),
    )


@pytest.mark.parametrize("place", [0, 3, len(BOUNDS) - 1])
def test_a_bound_belongs_to_the_class_below_it(place: int) -> None:
    assert class_of(BOUNDS[place]) == place


def test_nothing_has_no_percentile() -> None:
    assert percentile(_counts([]), 0.5) is None


@pytest.mark.parametrize(("seconds", "told"), [(0.0, BOUNDS[0]), (1e6, BOUNDS[-1])])
def test_a_time_beyond_the_bounds_is_the_nearest_bound(seconds: float, told: float) -> None:
    assert percentile(_counts([seconds]), 0.95) == round(told, 4)
