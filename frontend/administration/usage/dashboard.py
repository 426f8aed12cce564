"""/dashboard/data: usage, balance and limits of an API key, for its page."""

import datetime
import time

from aiohttp import web

from frontend.access.caller import Caller
from frontend.administration.keys import USAGE
from frontend.administration.usage import over_http
from frontend.administration.usage.outcomes import NAMES, percentile
from frontend.administration.usage.queries import UsageFilter, UsageQueries
from frontend.administration.usage.report import spent_a_day
from frontend.app_keys import CALLER, LIMITER, PATHS, SETTINGS
from frontend.catalogue.endpoints import API_KEY, ENDPOINTS
from frontend.catalogue.prices import to_chf
from frontend.errors import InvalidRequest
from frontend.http.rendering import json_response

# Longest period in days that one request may add up.
_MOST_DAYS = 366
_PERCENTILES = (50, 95)


async def account(request: web.Request) -> web.Response:
    """The key's owner, the balance and daily spending of its organisation, and the remaining requests of each limit."""
    caller, queries = request[CALLER], _queries(request)
    balance = spent = None
    if caller.org is not None and (balance := await queries.balance(caller.org)) is not None:
        spent = await spent_a_day(queries, caller.org, time.time())
    limits = await request.app[LIMITER].usage(caller)
    # Mobile apps use tokens, not keys.
    operations, paths = request.app[SETTINGS].operations, request.app[PATHS]
    shown = {each.limit for each in ENDPOINTS if paths.auth_of(each.path) == API_KEY and each.operation in operations}
    # The organisation's limit is of no endpoint.
    of_endpoints = {each.limit for each in ENDPOINTS}
    return json_response(
        {
            "key": caller.name,
            "tier": caller.tier,
            "org": caller.org,
            "balance": None if balance is None else to_chf(balance),
            "spent_a_day": None if spent is None else to_chf(spent),
            "limits": [
                {"name": name, "limit": count.limit, "remaining": count.remaining, "reset": count.reset}
                for name, count in limits.items()
                if name in shown or name not in of_endpoints
            ],
        }
    )


async def outcomes(request: web.Request) -> web.Response:
    """Outcomes and durations of the requests of the key's organisation, or of the key if it has none, by operation."""
    last = over_http.day(request, "last", datetime.datetime.now(datetime.UTC).date().isoformat())
    before = datetime.date.fromisoformat(last).toordinal() - _MOST_DAYS
    first = over_http.day(request, "first", datetime.date.fromordinal(max(1, before + 1)).isoformat())
    scope = UsageFilter(first, last, *_owner(request[CALLER]))
    if datetime.date.fromisoformat(first).toordinal() <= before:
        raise InvalidRequest(f"there are more than {_MOST_DAYS} days from first to last", param="first")
    summaries = await _queries(request).outcomes(scope)
    rows = [
        {
            "operation": summary.operation,
            **{outcome: summary.counts[outcome] for outcome in NAMES},
            **{f"p{share}_seconds": percentile(summary.times, share / 100) for share in _PERCENTILES},
        }
        for summary in summaries
    ]
    return json_response({"object": "list", "data": rows})


async def usage(request: web.Request) -> web.Response:
    """Usage of the key's organisation, or of the key if it has none."""
    return await over_http.answer(request, _queries(request), *_owner(request[CALLER]))


def _queries(request: web.Request) -> UsageQueries:
    return request.app[USAGE].asked_by(request[CALLER].id)


def _owner(caller: Caller) -> tuple[str | None, str | None]:
    """The organisation, or the id of a key without one."""
    return (caller.org, None) if caller.org is not None else (None, caller.id)


QUERIES = {"/dashboard/data/usage": over_http.PARAMETERS, "/dashboard/data/outcomes": over_http.DAYS}
ROUTES = [
    web.get("/dashboard/data/account", account),
    web.get("/dashboard/data/usage", usage),
    web.get("/dashboard/data/outcomes", outcomes),
]
