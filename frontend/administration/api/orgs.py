"""/admin/v1/orgs, with their wallets."""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from frontend.administration.api.fields import PAGE, body, in_path, name, page, registry, rows, usage_queries
from frontend.administration.names import LONGEST_ORG
from frontend.catalogue.prices import to_chf, to_micro
from frontend.config.tables import MOST_REQUESTS
from frontend.errors import InvalidRequest
from frontend.http.rendering import json_response
from frontend.parameters.kinds import Integer, Text

_LIMIT = Integer("requests_per_minute", most=MOST_REQUESTS)


def _limit(values: Mapping[str, Any]) -> int | None:
    limit: int | None = _LIMIT.read(values)
    return limit


def _org(org: str, limit: int | None) -> dict[str, Any]:
    return {"name": org, "requests_per_minute": limit}


async def list_orgs(request: web.Request) -> web.Response:
    """List organisations. ``balance`` is null without a wallet."""
    search, requested = name(request.query, "search"), page(request)
    orgs = await registry(request).orgs(search or "", requested)
    amounts = await usage_queries(request).balances([org for org, _, _ in orgs])
    balances = {org: to_chf(amount) for org, amount in amounts.items()}
    entries = [{**_org(org, limit), "keys": keys, "balance": balances.get(org)} for org, limit, keys in orgs]
    return rows(requested, entries)


async def create_org(request: web.Request) -> web.Response:
    """Create an organisation."""
    values = await body(request, ("name", "requests_per_minute"))
    org, limit = name(values, "name", LONGEST_ORG), _limit(values)
    if org is None:
        raise InvalidRequest("missing parameter: name", param="name")
    await registry(request).create_org(org, limit)
    return json_response(_org(org, limit))


async def change_org(request: web.Request) -> web.Response:
    """Change an organisation's limit; without one, remove it."""
    values = await body(request, ("requests_per_minute",))
    org, limit = in_path(request, "name"), _limit(values)
    await registry(request).change_org(org, limit)
    return json_response(_org(org, limit))


async def list_top_ups(request: web.Request) -> web.Response:
    """List the top-ups of a wallet, newest first."""
    requested = page(request, "desc")
    top_ups = await usage_queries(request).top_ups(in_path(request, "name"), requested)
    entries = [{"reference": each.reference, "amount": to_chf(each.amount), "at": each.at} for each in top_ups]
    return rows(requested, entries)


async def top_up(request: web.Request) -> web.Response:
    """Add credit: ``amount`` is CHF as a string. A repeated ``reference`` adds nothing."""
    values = await body(request, ("amount", "reference"))
    text = Text("amount").read(values)
    try:
        amount = to_micro(text or "")
    except ValueError:
        raise InvalidRequest("amount must be CHF as a string, such as 25.50", param="amount") from None
    org, reference = in_path(request, "name"), name(values, "reference")
    balance = await usage_queries(request).top_up(org, amount, reference)
    return json_response({"org": org, "balance": to_chf(balance)})


QUERIES = {"/admin/v1/orgs": (*PAGE, "search"), "/admin/v1/orgs/{name}/topups": PAGE}
ROUTES = [
    web.get("/admin/v1/orgs", list_orgs),
    web.post("/admin/v1/orgs", create_org),
    web.patch("/admin/v1/orgs/{name}", change_org),
    web.get("/admin/v1/orgs/{name}/topups", list_top_ups),
    web.post("/admin/v1/orgs/{name}/topups", top_up),
]
