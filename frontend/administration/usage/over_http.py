"""Reports of usage: a query string, answered with JSON or comma-separated values."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from aiohttp import web

from frontend.administration.usage.queries import UsageFilter, UsageQueries
from frontend.administration.usage.report import FIRST_DAY, LAST_DAY, cells, parse_day, parse_groups, report, to_csv
from frontend.errors import InvalidRequest
from frontend.http.rendering import json_response
from frontend.parameters.kinds import Choice

DAYS = ("first", "last")
_FORMAT = Choice("format", names=("json", "csv"), default="json")
PARAMETERS = (*DAYS, "by", "format")
# Most rows of a report over HTTP. The command line has no limit.
_MOST_ROWS = 10_000
_Value = TypeVar("_Value")


def _parsed(request: web.Request, name: str, default: str, parse: Callable[[str], _Value]) -> _Value:
    try:
        return parse(request.query.get(name) or default)
    except ValueError:
        raise InvalidRequest(f"{name} is not valid", param=name) from None


def day(request: web.Request, name: str, default: str) -> str:
    """A day of the query, as YYYY-MM-DD."""
    return _parsed(request, name, default, parse_day)


def scope(request: web.Request, org: str | None, key_id: str | None) -> UsageFilter:
    """The requested days, by default from the beginning until now."""
    return UsageFilter(day(request, "first", FIRST_DAY), day(request, "last", LAST_DAY), org, key_id)


async def answer(request: web.Request, queries: UsageQueries, org: str | None, key_id: str | None) -> web.Response:
    """Answer ``?first=2026-11-01&last=2026-11-30&by=day,model&format=csv``."""
    by = _parsed(request, "by", "day", parse_groups)
    kind = _FORMAT.read(request.query)
    rows = await report(queries, scope(request, org, key_id), by, _MOST_ROWS)
    if kind == "json":
        return json_response({"object": "list", "data": rows})
    headers = {"Content-Disposition": 'attachment; filename="usage.csv"'}
    text = await asyncio.to_thread(lambda: to_csv(cells(rows, by)))
    return web.Response(text=text, content_type="text/csv", charset="utf-8", headers=headers)
