import asyncio
from collections.abc import Callable

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access.caller import Caller
from frontend.administration.usage.queries import UsageFilter, UsageQueries
from frontend.database.engine import open_engine
from frontend.usage import outcomes as module
from frontend.usage.outcomes import Outcomes
from frontend.usage.times import percentile
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
        bounded.setattr(module, "_MOST_GROUPS", 3)
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
