"""All routes except the operations' routes."""

from aiohttp import web

from frontend.administration.api import keys, orgs, reports
from frontend.catalogue.endpoints import LIVE
from frontend.config.settings import Settings
from frontend.extensions.realtime.handler import QUERY
from frontend.operations.status import health, metrics, models
from frontend.pages import dashboard, docs, offer, openapi, site
from frontend.usage import report_over_http

_PAGES = (site, health, models, offer, metrics, openapi, dashboard)
_ADMINISTRATION = (keys, orgs, reports)
# The query parameters of each route that has some.
QUERIES = {
    LIVE: QUERY,
    "/dashboard/data/usage": report_over_http.PARAMETERS,
    "/dashboard/data/outcomes": report_over_http.DAYS,
    **keys.QUERIES,
    **orgs.QUERIES,
    **reports.QUERIES,
}


def routes(settings: Settings) -> list[web.RouteDef]:
    """The routes that these settings enable."""
    pages, enabled = [*_PAGES], docs.routes(settings)
    if settings.admin_key:
        pages += _ADMINISTRATION
        enabled += site.KEYS_PAGE
    return [*enabled, *(route for each in pages for route in each.ROUTES)]
