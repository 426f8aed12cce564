"""/admin/v1: keys, organisations, wallets and usage for whoever has the admin key."""

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from frontend.access import api_key
from frontend.access.registry import (
    LONGEST_NAME,
    LONGEST_ORG,
    LONGEST_SECONDS,
    ROTATION_OVERLAP_SECONDS,
    KeyEntry,
    Registry,
    RegistryError,
    check_name,
)
from frontend.app_keys import BOOKS, HOLDING, JSON_BODIES, REGISTRY, TURN
from frontend.catalogue.models import Served
from frontend.catalogue.prices import to_chf, to_micro
from frontend.config.tables import MOST_REQUESTS, TIERS, USUAL_TIER, SettingsError, check_limit
from frontend.errors import InvalidRequest, NotFound
from frontend.http import fields
from frontend.http.rendering import json_response
from frontend.pages import usage_report

# What narrows usage down.
SCOPE = ("org", "key")
_KEY = ("name", "tier", "org", "limits", "expires_in")


def _as_given(values: Mapping[str, Any], served: Served) -> dict[str, Any]:
    return dict(values)


async def _body(request: web.Request, known: tuple[str, ...]) -> dict[str, Any]:
    values = await request.app[JSON_BODIES].read(request, request[HOLDING], request[TURN], _as_given)
    fields.refuse_unknown(values, known)
    return values


def _name(values: Mapping[str, Any], name: str, longest: int = LONGEST_NAME) -> str | None:
    value = fields.text(values, name)
    try:
        return None if value is None else check_name(name, value, longest)
    except RegistryError as error:
        raise InvalidRequest(str(error), param=name) from None


def _in_path(request: web.Request, name: str) -> str:
    """A name in the path; 404 for one that nothing can have, which no database needs to be asked."""
    value = request.match_info[name]
    if not value.isprintable():
        raise NotFound("there is nothing of that name")
    return value


def _limit(values: Mapping[str, Any]) -> int | None:
    return fields.integer_between(values, "requests_per_minute", 1, MOST_REQUESTS)


def _limits(values: Mapping[str, Any]) -> dict[str, int | None]:
    """Requests a minute by name; null takes one away."""
    limits = values.get("limits", {})
    if not isinstance(limits, dict):
        raise InvalidRequest("limits must be an object", param="limits")
    for name, number in limits.items():
        try:
            check_limit(f"limits.{name}", name, 1 if number is None else number)
        except SettingsError as error:
            raise InvalidRequest(str(error), param="limits") from None
    return limits


def _expires_at(values: Mapping[str, Any]) -> int | None:
    seconds = fields.integer_between(values, "expires_in", 1, LONGEST_SECONDS)
    return None if seconds is None else int(time.time()) + seconds


def _list(rows: list[Any]) -> web.Response:
    return json_response({"object": "list", "data": rows})


def _key(entry: KeyEntry) -> dict[str, Any]:
    return {**dataclasses.asdict(entry), "limits": dict(entry.limits)}


async def list_keys(request: web.Request) -> web.Response:
    """Every secret of every key, without the secret."""
    return _list([_key(entry) for entry in await request.app[REGISTRY].entries()])


async def create_key(request: web.Request) -> web.Response:
    """A key, shown this once."""
    values = await _body(request, _KEY)
    limits = {name: number for name, number in _limits(values).items() if number is not None}
    tier = fields.choice(values, "tier", TIERS, USUAL_TIER)
    name = _name(values, "name") or "unnamed"
    org = _name(values, "org", LONGEST_ORG)
    key = await request.app[REGISTRY].create(name, tier, org, limits, _expires_at(values))
    return json_response({"key": key, "prefix": api_key.prefix(key)})


async def change_key(request: web.Request) -> web.Response:
    """Other values for what is named; an empty ``org`` takes the key out of its organisation."""
    values = await _body(request, _KEY)
    changed: dict[str, Any] = {
        "name": _name(values, "name"),
        "tier": fields.choice(values, "tier", TIERS, "") or None,
        "org": _name(values, "org", LONGEST_ORG),
        "expires_at": _expires_at(values),
    }
    given = {name: value for name, value in changed.items() if value is not None}
    if values.get("org") == "":
        given["org"] = None
    named = _in_path(request, "prefix")
    await request.app[REGISTRY].change(named, given, _limits(values))
    return json_response({"prefix": api_key.prefix(named)})


async def rotate_key(request: web.Request) -> web.Response:
    """Another secret, shown this once; the old one holds for ``overlap`` seconds more."""
    values = await _body(request, ("overlap",))
    overlap = fields.integer_between(values, "overlap", 0, LONGEST_SECONDS)
    seconds = ROTATION_OVERLAP_SECONDS if overlap is None else overlap
    key = await request.app[REGISTRY].rotate(_in_path(request, "prefix"), seconds)
    return json_response({"key": key, "prefix": api_key.prefix(key)})


async def revoke_key(request: web.Request) -> web.Response:
    """The end of a key with all its secrets."""
    named = _in_path(request, "prefix")
    await request.app[REGISTRY].revoke(named)
    return json_response({"prefix": api_key.prefix(named), "revoked": True})


def _org(name: str, limit: int | None) -> dict[str, Any]:
    return {"name": name, "requests_per_minute": limit}


async def list_orgs(request: web.Request) -> web.Response:
    """Every organisation, with its balance where it has a wallet."""
    balances = await request.app[BOOKS].balances()
    return _list(
        [
            {**_org(name, limit), "keys": keys, "balance": to_chf(balances[name]) if name in balances else None}
            for name, limit, keys in await request.app[REGISTRY].orgs()
        ]
    )


async def create_org(request: web.Request) -> web.Response:
    """An organisation, whose keys may share a limit."""
    values = await _body(request, ("name", "requests_per_minute"))
    name, limit = _name(values, "name", LONGEST_ORG), _limit(values)
    if name is None:
        raise InvalidRequest("missing parameter: name", param="name")
    await request.app[REGISTRY].create_org(name, limit)
    return json_response(_org(name, limit))


async def change_org(request: web.Request) -> web.Response:
    """Another limit for an organisation, or none."""
    values = await _body(request, ("requests_per_minute",))
    name, limit = _in_path(request, "name"), _limit(values)
    await request.app[REGISTRY].change_org(name, limit)
    return json_response(_org(name, limit))


async def top_up(request: web.Request) -> web.Response:
    """More in a wallet: ``amount`` in CHF as a string; repeated under its ``reference``, it is added once."""
    values = await _body(request, ("amount", "reference"))
    text = fields.text(values, "amount")
    try:
        amount = to_micro(text or "")
    except ValueError:
        raise InvalidRequest("amount must be CHF as a string, such as 25.50", param="amount") from None
    reference = _name(values, "reference")
    org = _in_path(request, "name")
    balance = await request.app[BOOKS].top_up(org, amount, reference)
    return json_response({"org": org, "balance": to_chf(balance)})


async def list_leases(request: web.Request) -> web.Response:
    """What frontends hold of wallets."""
    held = await request.app[BOOKS].leases()
    return _list([{"holder": lease.holder, "org": lease.org, "amount": to_chf(lease.amount)} for lease in held])


async def release(request: web.Request) -> web.Response:
    """Take back what a frontend holds that is lost for good."""
    holder = _in_path(request, "holder")
    await request.app[BOOKS].release(holder)
    return json_response({"holder": holder, "released": True})


async def usage(request: web.Request) -> web.Response:
    """Everybody's consumption, or that of ``org`` or of the key that begins with ``key``."""
    key, org = request.query.get("key"), _name(request.query, "org", LONGEST_ORG)
    registry: Registry = request.app[REGISTRY]
    key_id = await registry.key_id(key) if key else None
    return await usage_report.answer(request, request.app[BOOKS], org, key_id)


ROUTES = [
    web.get("/admin/v1/keys", list_keys),
    web.post("/admin/v1/keys", create_key),
    web.patch("/admin/v1/keys/{prefix}", change_key),
    web.delete("/admin/v1/keys/{prefix}", revoke_key),
    web.post("/admin/v1/keys/{prefix}/rotate", rotate_key),
    web.get("/admin/v1/orgs", list_orgs),
    web.post("/admin/v1/orgs", create_org),
    web.patch("/admin/v1/orgs/{name}", change_org),
    web.post("/admin/v1/orgs/{name}/topups", top_up),
    web.get("/admin/v1/leases", list_leases),
    web.delete("/admin/v1/leases/{holder}", release),
    web.get("/admin/v1/usage", usage),
]
