import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.usage.books import Books
from frontend.usage.burn import spent_a_day
from tests.unit.usage.conftest import event, write

_DAY = 86_400
# Noon.
_NOW = 100 * _DAY + _DAY // 2


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
async def test_the_last_seven_days_tell_what_a_day_costs(
    engine: AsyncEngine, books: Books, days_ago: tuple[int, ...], spent: int
) -> None:
    others = event("other", 7, org="zenith", prepaid=False, at=_NOW)
    own = [event(str(days), 600, prepaid=False, at=_NOW - days * _DAY) for days in days_ago]
    await write(engine, others, *own)
    assert await spent_a_day(books, "acme", _NOW) == pytest.approx(spent, abs=1)
