"""Parameters, bodies and pages of lists of /admin/v1."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from frontend.administration import audit
from frontend.administration.audit import Actor
from frontend.administration.keys import REGISTRY, USAGE
from frontend.administration.names import LONGEST_NAME, check_name
from frontend.administration.paging import Page
from frontend.administration.registry import LONGEST_SECONDS, Registry
from frontend.administration.usage.queries import UsageQueries
from frontend.app_keys import CONTEXT, JSON_BODIES, MEMORY_RESERVATION
from frontend.catalogue.models import Served
from frontend.errors import InvalidRequest, NotFound
from frontend.http.rendering import json_response
from frontend.middleware.auth import address_of
from frontend.parameters.kinds import Choice, Integer, Text
from frontend.parameters.table import refuse_unknown

# Query parameters that select a page of a list.
PAGE = ("limit", "after", "order")
# Most rows per page, which take a few milliseconds to render.
_MOST_ROWS = 500
_LONGEST_NUMBER = 12  # digits


def _as_dict(values: Mapping[str, Any], served: Served) -> dict[str, Any]:
    return dict(values)


async def body(request: web.Request, known: Sequence[str]) -> dict[str, Any]:
    """The values of a JSON body. Raises 400 for an unknown name."""
    values = await request.app[JSON_BODIES].read(request, request[MEMORY_RESERVATION], request[CONTEXT], _as_dict)
    refuse_unknown(values, known)
    return values


def name(values: Mapping[str, Any], field: str, longest: int = LONGEST_NAME) -> str | None:
    """A name, or None if absent."""
    value = Text(field).read(values)
    return None if value is None else check_name(field, value, longest, field)


def in_path(request: web.Request, field: str) -> str:
    """A name in the path. Raises 404 for a name that nothing can have."""
    value = request.match_info[field]
    if not value.isprintable():
        raise NotFound("there is nothing of that name")
    return value


def expires_at(values: Mapping[str, Any]) -> int | None:
    """The time ``expires_in`` seconds from now, in seconds since 1970; None if absent."""
    seconds = Integer("expires_in", most=LONGEST_SECONDS).read(values)
    return None if seconds is None else int(time.time()) + seconds


def number(values: Mapping[str, str], field: str, least: int, most: int) -> int | None:
    """A whole number of the query; None if absent."""
    text = values.get(field, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > _LONGEST_NUMBER or not least <= int(text) <= most:
        raise InvalidRequest(f"{field} must be an integer from {least} to {most}", param=field)
    return int(text)


def page(request: web.Request, usual_order: str = "asc") -> Page:
    """The page ``?limit=100&after=...&order=desc``, with one extra row that shows whether more follow."""
    newest_first = Choice("order", names=("asc", "desc"), default=usual_order).read(request.query) == "desc"
    limit = number(request.query, "limit", 1, _MOST_ROWS) or _MOST_ROWS
    return Page(limit + 1, name(request.query, "after"), newest_first)


def rows(requested: Page, entries: Sequence[Any]) -> web.Response:
    """Answer with a page of a list."""
    assert requested.limit is not None
    most = requested.limit - 1
    return json_response({"object": "list", "data": entries[:most], "has_more": len(entries) > most})


def _actor(request: web.Request) -> Actor:
    return Actor(audit.ADMIN_KEY, address_of(request))


def registry(request: web.Request) -> Registry:
    """The registry, which records the caller as the author of changes."""
    return request.app[REGISTRY].acting(_actor(request))


def usage_queries(request: web.Request) -> UsageQueries:
    """The usage and the wallets, which record the caller as the author of changes."""
    return request.app[USAGE].acting(_actor(request))
