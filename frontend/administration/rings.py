"""The administration: the reports that keys may see, and /admin/v1 if an admin key is set."""

from contextlib import AsyncExitStack

from aiohttp import web

from frontend.administration.api import keys, orgs, reports
from frontend.administration.keys import OUTCOMES, REGISTRY, USAGE
from frontend.administration.registry import Registry
from frontend.administration.usage import dashboard
from frontend.administration.usage.outcomes import Outcomes, outcome_of
from frontend.administration.usage.queries import UsageQueries
from frontend.app_keys import CALLER, KEY_DATABASE, PATHS, USAGE_DATABASE
from frontend.catalogue.endpoints import ADMIN_KEY, API_KEY, Paths
from frontend.observe.record import current
from frontend.rings import Ring


async def _start_reports(app: web.Application, closing: AsyncExitStack) -> None:
    app[USAGE] = UsageQueries(app[USAGE_DATABASE])
    app[OUTCOMES] = outcomes = Outcomes(app[USAGE_DATABASE])
    closing.push_async_callback(outcomes.close)
    outcomes.start()


def _count(request: web.Request, status: int, seconds: float | None) -> None:
    """Count the outcome of a request with a key. Callers with tokens have no page that shows it."""
    paths, caller = request.app[PATHS], request.get(CALLER)
    operation = paths.operation_of(request.path)
    if caller is not None and operation != "other" and paths.auth_of(request.path) == API_KEY:
        request.app[OUTCOMES].count(caller, operation, outcome_of(status, current().refused_for), seconds)


async def _start_registry(app: web.Application, closing: AsyncExitStack) -> None:
    app[REGISTRY] = Registry(app[KEY_DATABASE])


RINGS = (
    Ring(
        routes=lambda settings: dashboard.ROUTES,
        paths=Paths(auth={"/dashboard/data/": API_KEY}, queries=dashboard.QUERIES),
        start=_start_reports,
        ended=_count,
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
