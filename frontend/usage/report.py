"""Consumption as it is told: rows with names, comma-separated values, and what a day costs."""

import asyncio
import calendar
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from frontend.catalogue.prices import to_chf
from frontend.usage.books import GROUPS, Books, KeyName, Scope, Sum

FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
# What is told of each group: what is counted in one unit is not added to what is counted in another.
_SUMS = ("requests", "audio_seconds", "characters", "tokens", "amount")
# What tells keys of one name apart; the prefix is that of the newest secret.
_OF_A_KEY = ("key_id", "key_prefix")
# So many days tell how fast an organisation spends, and so how long its wallet lasts.
_BURN_DAYS, _DAY_SECONDS = 7, 86_400
# Cells that a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Those of the RFC, and the semicolon, at which spreadsheets of some countries cut.
_QUOTED = frozenset(',;"\r\n')


def parse_day(text: str) -> str:
    """``2026-11-20``; ``ValueError`` where it is no day."""
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"{text!r}: write a day as 2026-11-20") from None


def beginning(day: str) -> int:
    """Of a day, UTC, in seconds since 1970."""
    return calendar.timegm(datetime.date.fromisoformat(day).timetuple())


def parse_groups(text: str) -> list[str]:
    """``day,model``: some of the groups, each once; ``ValueError`` where it is not."""
    names = text.split(",") if text else []
    if not set(names) <= set(GROUPS) or len(set(names)) < len(names):
        raise ValueError(f"{text!r}: must be some of {','.join(GROUPS)}")
    return names


async def report(books: Books, scope: Scope, by: Sequence[str], most: int | None = None) -> list[dict[str, Any]]:
    """One object a group: its names and ``_SUMS``, of which ``amount`` is in CHF; a key has ``_OF_A_KEY`` besides.

    ``RegistryError`` where there are more than ``most``.
    """
    sums = await books.usage(scope, by, most)
    names: Mapping[str, KeyName] = {}
    if "key" in by:
        place = by.index("key")
        names = await books.key_names(list({found.group[place] for found in sums}), scope.org)
    return await asyncio.to_thread(_rows, sums, names, by)


def _rows(sums: Iterable[Sum], names: Mapping[str, KeyName], by: Sequence[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for found in sums:
        row: dict[str, Any] = dict(zip(by, found.group, strict=True))
        if "key" in row:
            known = names.get(row["key"], KeyName(row["key"], ""))
            row |= {"key": known.name, "key_id": row["key"], "key_prefix": known.prefix}
        whole, rest = divmod(found.milliseconds, 1000)
        seconds = found.milliseconds / 1000 if rest else whole
        told = (found.requests, seconds, found.characters, found.tokens, to_chf(found.amount))
        rows.append(row | dict(zip(_SUMS, told, strict=True)))
    return rows


async def spent_a_day(books: Books, org: str, now: float) -> int:
    """Micro-CHF a day over the last seven days, today among them, until ``now`` (seconds since 1970).

    Who began to call within these days is not told the less for those before that; what was spent on a first day counts
    for a whole one.
    """
    today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
    first = today - datetime.timedelta(days=_BURN_DAYS - 1)
    sums = await books.usage(Scope(first.isoformat(), today.isoformat(), org), ["day"])
    if not sums:
        return 0
    whole_days = (today - datetime.date.fromisoformat(sums[0].group[0])).days
    days = max(1.0, whole_days + now % _DAY_SECONDS / _DAY_SECONDS)
    return round(sum(each.amount for each in sums) / days)


def cells(rows: Iterable[Mapping[str, Any]], by: Collection[str]) -> list[list[str]]:
    """A table with its heading; keys may share a name, and have beside it what tells them apart."""
    names = [name for group in by for name in ((group, *_OF_A_KEY) if group == "key" else (group,))]
    names += _SUMS
    return [names, *([str(row[name]) for name in names] for row in rows)]


def to_csv(table: Iterable[Iterable[str]]) -> str:
    """The table as comma-separated values (RFC 4180) that a spreadsheet takes for text and numbers alone."""
    return "".join(",".join(map(_cell, row)) + "\r\n" for row in table)


def _cell(text: str) -> str:
    plain = f"'{text}" if text.startswith(_FORMULA) else text
    return '"' + plain.replace('"', '""') + '"' if _QUOTED.intersection(plain) else plain
