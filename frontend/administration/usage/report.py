"""Reports of consumption: rows with names, comma-separated values, and the cost of a day."""

import asyncio
import calendar
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from frontend.administration.usage.queries import GROUPS, KeyName, UsageFilter, UsageQueries, UsageTotal
from frontend.catalogue.prices import to_chf

FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
# The columns of each group. Quantities in different units are not added up.
_TOTALS = ("requests", "audio_seconds", "characters", "tokens", "amount")
# Columns that distinguish keys of one name. The prefix belongs to the newest secret.
_OF_A_KEY = ("key_id", "key_prefix")
# The number of days over which spending is averaged.
_BURN_DAYS, _DAY_SECONDS = 7, 86_400
# First characters of cells that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# The characters of RFC 4180, and the semicolon, which separates cells in some countries.
_QUOTED = frozenset(',;"\r\n')


def parse_day(text: str) -> str:
    """Check a day such as ``2026-11-20``. Raises ``ValueError``."""
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"{text!r}: write a day as 2026-11-20") from None


def beginning(day: str) -> int:
    """The start of a day (UTC) in seconds since 1970."""
    return calendar.timegm(datetime.date.fromisoformat(day).timetuple())


def parse_groups(text: str) -> list[str]:
    """Split names of groups such as ``day,model``. Raises ``ValueError`` for unknown or repeated names."""
    names = text.split(",") if text else []
    if not set(names) <= set(GROUPS) or len(set(names)) < len(names):
        raise ValueError(f"{text!r}: must be some of {','.join(GROUPS)}")
    return names


async def report(
    queries: UsageQueries, scope: UsageFilter, by: Sequence[str], most: int | None = None
) -> list[dict[str, Any]]:
    """One object per group: its names, and ``_TOTALS`` with ``amount`` in CHF. A key also has ``_OF_A_KEY``.

    Raises ``RegistryError`` for over ``most`` groups.
    """
    totals = await queries.usage(scope, by, most)
    names: Mapping[str, KeyName] = {}
    if "key" in by:
        column = by.index("key")
        names = await queries.key_names(list({total.group[column] for total in totals}), scope.org)
    return await asyncio.to_thread(_rows, totals, names, by)


def _rows(totals: Iterable[UsageTotal], names: Mapping[str, KeyName], by: Sequence[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for total in totals:
        row: dict[str, Any] = dict(zip(by, total.group, strict=True))
        if "key" in row:
            known = names.get(row["key"], KeyName(row["key"], ""))
            row |= {"key": known.name, "key_id": row["key"], "key_prefix": known.prefix}
        whole, rest = divmod(total.milliseconds, 1000)
        seconds = total.milliseconds / 1000 if rest else whole
        values = (total.requests, seconds, total.characters, total.tokens, to_chf(total.amount))
        rows.append(row | dict(zip(_TOTALS, values, strict=True)))
    return rows


async def spent_a_day(queries: UsageQueries, org: str, now: float) -> int:
    """Mean micro-CHF per day over the last seven days, including today until ``now`` (seconds since 1970).

    The mean starts at the first day with consumption, which counts as a whole day.
    """
    today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
    first = today - datetime.timedelta(days=_BURN_DAYS - 1)
    totals = await queries.usage(UsageFilter(first.isoformat(), today.isoformat(), org), ["day"])
    if not totals:
        return 0
    whole_days = (today - datetime.date.fromisoformat(totals[0].group[0])).days
    days = max(1.0, whole_days + now % _DAY_SECONDS / _DAY_SECONDS)
    return round(sum(total.amount for total in totals) / days)


def cells(rows: Iterable[Mapping[str, Any]], by: Collection[str]) -> list[list[str]]:
    """A table with its heading. Keys also have their id and prefix, because names are not unique."""
    names = [name for group in by for name in ((group, *_OF_A_KEY) if group == "key" else (group,))]
    names += _TOTALS
    return [names, *([str(row[name]) for name in names] for row in rows)]


def to_csv(table: Iterable[Iterable[str]]) -> str:
    """The table as comma-separated values (RFC 4180) in which a spreadsheet finds no formulas."""
    return "".join(",".join(map(_cell, row)) + "\r\n" for row in table)


def _cell(text: str) -> str:
    plain = f"'{text}" if text.startswith(_FORMULA) else text
    return '"' + plain.replace('"', '""') + '"' if _QUOTED.intersection(plain) else plain
