"""/admin/v1/keys."""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from frontend.access import api_key
from frontend.administration.api.fields import PAGE, body, expires_at, in_path, name, page, registry, rows
from frontend.administration.listing import KeyFilter
from frontend.administration.names import LONGEST_ORG
from frontend.administration.registry import LONGEST_SECONDS, ROTATION_OVERLAP_SECONDS
from frontend.config.reading import SettingsError
from frontend.config.tables import TIERS, USUAL_TIER, check_limit
from frontend.errors import InvalidRequest
from frontend.http.rendering import json_response
from frontend.parameters.kinds import Choice, Integer

_KEY = ("name", "tier", "org", "limits", "expires_in")
_TIER = Choice("tier", names=TIERS)
_STATE = Choice("state", names=("active", "all"), default="all")
_OVERLAP = Integer("overlap", least=0, most=LONGEST_SECONDS)
# Columns that an empty parameter removes, and that parameter.
_REMOVABLE = {"org": "org", "expires_at": "expires_in"}


def _limits(values: Mapping[str, Any]) -> dict[str, int | None]:
    """Requests per minute by limit; null removes a limit."""
    limits = values.get("limits", {})
    if not isinstance(limits, dict):
        raise InvalidRequest("limits must be an object", param="limits")
    for limit, number in limits.items():
        try:
            check_limit(f"limits.{limit}", limit, 1 if number is None else number)
        except SettingsError as error:
            raise InvalidRequest(str(error), param="limits") from None
    return limits


async def list_keys(request: web.Request) -> web.Response:
    """List keys, without their secrets. ``state=active`` omits revoked and expired ones."""
    search, org = name(request.query, "search"), name(request.query, "org", LONGEST_ORG)
    active = _STATE.read(request.query) == "active"
    requested = page(request)
    entries = await registry(request).entries(KeyFilter(search or "", org, active), requested)
    return rows(requested, [vars(entry) for entry in entries])


async def create_key(request: web.Request) -> web.Response:
    """Create a key. Only this answer contains it."""
    values = await body(request, _KEY)
    limits = {limit: number for limit, number in _limits(values).items() if number is not None}
    tier = _TIER.read(values) or USUAL_TIER
    org = name(values, "org", LONGEST_ORG)
    key = await registry(request).create(name(values, "name") or "unnamed", tier, org, limits, expires_at(values))
    return json_response({"key": key, "prefix": api_key.prefix(key)})


async def change_key(request: web.Request) -> web.Response:
    """Change the given values. An empty ``org`` or ``expires_in`` removes the key's organisation or expiry."""
    values = await body(request, _KEY)
    changed: dict[str, Any] = {
        "name": name(values, "name"),
        "tier": _TIER.read(values) or None,
        "org": name(values, "org", LONGEST_ORG),
        "expires_at": expires_at(values),
    }
    columns = {field: value for field, value in changed.items() if value is not None}
    columns |= {field: None for field, value in _REMOVABLE.items() if values.get(value) == ""}
    named = in_path(request, "prefix")
    await registry(request).change(named, columns, _limits(values))
    return json_response({"prefix": api_key.prefix(named)})


async def rotate_key(request: web.Request) -> web.Response:
    """Create another secret. Only this answer contains it. The old one stays valid for ``overlap`` seconds."""
    values = await body(request, ("overlap",))
    overlap = _OVERLAP.read(values)
    seconds = ROTATION_OVERLAP_SECONDS if overlap is None else overlap
    key = await registry(request).rotate(in_path(request, "prefix"), seconds)
    return json_response({"key": key, "prefix": api_key.prefix(key)})


async def revoke_key(request: web.Request) -> web.Response:
    """Revoke a key with all its secrets."""
    named = in_path(request, "prefix")
    await registry(request).revoke(named)
    return json_response({"prefix": api_key.prefix(named), "revoked": True})


QUERIES = {"/admin/v1/keys": (*PAGE, "search", "org", "state")}
ROUTES = [
    web.get("/admin/v1/keys", list_keys),
    web.post("/admin/v1/keys", create_key),
    web.patch("/admin/v1/keys/{prefix}", change_key),
    web.delete("/admin/v1/keys/{prefix}", revoke_key),
    web.post("/admin/v1/keys/{prefix}/rotate", rotate_key),
]
