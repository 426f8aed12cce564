"""How fast an organisation spends, which tells how long its wallet lasts."""

import datetime

from frontend.usage.books import Books, Scope

_DAYS = 7
_DAY_SECONDS = 86_400


async def spent_a_day(books: Books, org: str, now: float) -> int:
    """Micro-CHF a day over the last seven days, today among them, until ``now`` (seconds since 1970).

    Who began to call within these days is not told the less for those before that; what was spent on a first day counts
    for a whole one.
    """
    today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
    first = today - datetime.timedelta(days=_DAYS - 1)
    sums = await books.usage(Scope(first.isoformat(), today.isoformat(), org), ["day"])
    if not sums:
        return 0
    whole_days = (today - datetime.date.fromisoformat(sums[0].group[0])).days
    days = max(1.0, whole_days + now % _DAY_SECONDS / _DAY_SECONDS)
    return round(sum(each.amount for each in sums) / days)
