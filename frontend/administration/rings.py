"""The administration: the reports that keys may see, and /admin/v1 if an admin key is set."""

from contextlib import AsyncExitStack

from aiohttp import web

from frontend.administration.api import keys, orgs, reports
from frontend.administration.keys import REGISTRY, USAGE
from frontend.administration.registry import Registry
from frontend.administration.usage import dashboard
from frontend.administration.usage.queries import UsageQueries
from frontend.app_keys import KEY_DATABASE, USAGE_DATABASE
from frontend.catalogue.endpoints import ADMIN_KEY, API_KEY, Paths
from frontend.rings import Ring


async def _start_reports(app: web.Application, closing: AsyncExitStack) -> None:
    app[USAGE] = UsageQueries(app[USAGE_DATABASE])


async def _start_registry(app: web.Application, closing: AsyncExitStack) -> None:
    app[REGISTRY] = Registry(app[KEY_DATABASE])


RINGS = (
    Ring(
        routes=lambda settings: dashboard.ROUTES,
        paths=Paths(auth={"/dashboard/data/": API_KEY}, queries=dashboard.QUERIES),
        start=_start_reports,
    ),
    Ring(
        is_on=lambda settings: bool(settings.admin_key),
        routes=lambda settings: [*keys.ROUTES, *orgs.ROUTES, *reports.ROUTES],
        paths=Paths(
            auth={"/admin/v1/": ADMIN_KEY},
            queries={**keys.QUERIES, **orgs.QUERIES, **reports.QUERIES},
            private=("/admin/",),
        ),
        start=_start_registry,
    ),
)
