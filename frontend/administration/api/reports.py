"""/admin/v1/usage, /admin/v1/audit and /admin/v1/settings."""

import dataclasses

from aiohttp import web

from frontend.administration.api.fields import PAGE, name, number, page, registry, rows, usage_queries
from frontend.administration.audit import AuditFilter
from frontend.administration.names import LONGEST_ORG
from frontend.administration.usage import over_http
from frontend.administration.usage.report import beginning
from frontend.app_keys import SETTINGS
from frontend.config.tables import TIERS, USUAL_TIER
from frontend.errors import InvalidRequest
from frontend.http.rendering import json_response

_LARGEST_ID = 10**12 - 1


async def usage(request: web.Request) -> web.Response:
    """Usage in total, of ``org``, or of the key that begins with ``key``."""
    key, org = request.query.get("key"), name(request.query, "org", LONGEST_ORG)
    key_id = await registry(request).key_id(key) if key else None
    return await over_http.answer(request, usage_queries(request), org, key_id)


def _since(request: web.Request) -> int:
    """The start of the day ``since``, UTC, in seconds since 1970; 0 if absent."""
    if not (text := request.query.get("since", "")):
        return 0
    try:
        return beginning(text)
    except ValueError:
        raise InvalidRequest("since must be a day, such as 2026-11-20", param="since") from None


async def audit(request: web.Request) -> web.Response:
    """List changes, newest first, filtered by ``actor``, ``action`` and ``target``."""
    columns = {field: name(request.query, field) or "" for field in ("actor", "action", "target")}
    audit_filter = AuditFilter(_since(request), **columns)
    after = number(request.query, "after", 1, _LARGEST_ID)
    requested = dataclasses.replace(page(request, "desc"), after=after)
    return rows(requested, [vars(change) for change in await registry(request).changes(audit_filter, requested)])


async def show_settings(request: web.Request) -> web.Response:
    """The settings that concern keys: tiers, limits in requests per minute, and floors."""
    settings = request.app[SETTINGS]
    return json_response(
        {
            "tiers": TIERS,
            "usual_tier": USUAL_TIER,
            "limits": settings.limits,
            "limits_of_tiers": settings.tiers,
            "floors": settings.floors,
        }
    )


QUERIES = {
    "/admin/v1/usage": (*over_http.PARAMETERS, "org", "key"),
    "/admin/v1/audit": (*PAGE, "since", "actor", "action", "target"),
}
ROUTES = [
    web.get("/admin/v1/usage", usage),
    web.get("/admin/v1/audit", audit),
    web.get("/admin/v1/settings", show_settings),
]
