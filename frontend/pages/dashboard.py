"""GET /dashboard: consumption, balance and limits of whoever signs in with an API key."""

from aiohttp import web

from frontend.access.caller import Caller
from frontend.app_keys import BOOKS, CALLER, LIMITER, SETTINGS
from frontend.catalogue.endpoints import API_KEY, ENDPOINTS
from frontend.catalogue.prices import to_chf
from frontend.http.rendering import json_response
from frontend.pages import usage_report
from frontend.pages.static_files import STATIC, page_routes, parts_of, policy

_FOLDER = STATIC / "dashboard"


async def account(request: web.Request) -> web.Response:
    """Who the key belongs to, its organisation's balance in CHF, and how much of each limit is left."""
    caller: Caller = request[CALLER]
    balance = await request.app[BOOKS].balance(caller.org) if caller.org is not None else None
    limits = await request.app[LIMITER].look(caller)
    # Mobile apps come with tokens.
    operations = request.app[SETTINGS].operations
    hidden = {each.limit for each in ENDPOINTS if each.auth != API_KEY or each.operation not in operations}
    return json_response(
        {
            "key": caller.name,
            "tier": caller.tier,
            "org": caller.org,
            "balance": None if balance is None else to_chf(balance),
            "limits": [
                {"name": name, "limit": count.limit, "remaining": count.remaining, "reset": count.reset}
                for name, count in limits.items()
                if name not in hidden
            ],
        }
    )


async def usage(request: web.Request) -> web.Response:
    """Consumption of the key's organisation, or of the key where it has none."""
    caller: Caller = request[CALLER]
    key_id = caller.id if caller.org is None else None
    return await usage_report.answer(request, request.app[BOOKS], caller.org, key_id)


ROUTES = [
    *page_routes("/dashboard", _FOLDER / "index.html", parts_of(_FOLDER), policy()),
    web.get("/dashboard/data/account", account),
    web.get("/dashboard/data/usage", usage),
]
