"""All routes except the operations' routes."""

from aiohttp import web

from frontend.catalogue.endpoints import LIVE
from frontend.config.settings import Settings
from frontend.extensions.realtime.handler import QUERY
from frontend.pages import dashboard, docs, health, metrics, models, openapi, site, usage_report
from frontend.pages.admin import keys, orgs, reports

_PAGES = (site, health, models, metrics, openapi, dashboard)
_ADMINISTRATION = (keys, orgs, reports)
# The query parameters of each route that has some.
QUERIES = {
    LIVE: QUERY,
    "/dashboard/data/usage": usage_report.PARAMETERS,
    "/dashboard/data/outcomes": usage_report.DAYS,
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
