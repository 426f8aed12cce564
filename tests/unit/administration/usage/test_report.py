import csv
import io

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from frontend.administration.usage.queries import UsageFilter, UsageQueries, UsageTotal
from frontend.administration.usage.report import FIRST_DAY, LAST_DAY, cells, report, spent_a_day, to_csv
from tests.unit.billing.conftest import event, write

_DAY = 86_400
# Noon.
_NOW = 100 * _DAY + _DAY // 2


@pytest.mark.parametrize("cell", ["a;b", "a,b", 'a"b', "a\nb", "a\rb", "plain", ""])
def test_a_cell_is_read_as_it_was_written(cell: str) -> None:
    assert list(csv.reader(io.StringIO(to_csv([[cell, "1"]]), newline=""))) == [[cell, "1"]]


def test_a_cell_with_a_semicolon_is_quoted() -> None:
    assert next(csv.reader(io.StringIO(to_csv([["a;=1+1"]])), delimiter=";")) == ["a;=1+1"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_a_cell_that_would_be_a_formula_is_text(text: str) -> None:
    assert to_csv([[text]]).lstrip('"').startswith("'")


@pytest.mark.parametrize(("milliseconds", "seconds"), [(0, "0"), (2_761, "2.761"), (7_200_000, "7200"), (100, "0.1")])
async def test_seconds_of_audio_have_milliseconds(
    monkeypatch: pytest.MonkeyPatch, milliseconds: int, seconds: str
) -> None:
    async def usage(*arguments: object) -> list[UsageTotal]:
        return [UsageTotal((), 1, milliseconds, 0, 0, 5)]

    queries = UsageQueries(create_async_engine("sqlite+aiosqlite://"))
    monkeypatch.setattr(queries, "usage", usage)
    assert cells(await report(queries, UsageFilter(FIRST_DAY, LAST_DAY), []), [])[1][1] == seconds


@pytest.mark.parametrize(
    ("days_ago", "spent"),
    [
        ((0,), 600),  # half a day counts for a whole one
        ((1,), 400),  # one day and a half
        ((6, 0), 600 * 2 // 6.5),
        ((7,), 0),
        ((), 0),
    ],
)
async def test_the_daily_cost_is_the_mean_of_seven_days(
    engine: AsyncEngine, queries: UsageQueries, days_ago: tuple[int, ...], spent: int
) -> None:
    others = event("other", 7, org="zenith", prepaid=False, at=_NOW)
    own = [event(str(days), 600, prepaid=False, at=_NOW - days * _DAY) for days in days_ago]
    await write(engine, others, *own)
    assert await spent_a_day(queries, "acme", _NOW) == pytest.approx(spent, abs=1)
