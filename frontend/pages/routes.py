"""Everything that is looked at beside the operations, by people and by machines."""

from aiohttp import web

from frontend.config.settings import Settings
from frontend.pages import (
    dashboard,
    docs,
    health,
    home,
    metrics,
    models,
    offer,
    openapi,
    playground,
    static_files,
    usage_report,
    voices,
)
from frontend.pages.admin import keys, orgs, page, reports

_PAGES = (static_files, home, health, models, metrics, offer, openapi, playground, dashboard)
_ADMINISTRATION = (page, keys, orgs, reports)
# The query parameters of each route that has some.
QUERIES = {
    "/dashboard/data/usage": usage_report.PARAMETERS,
    "/dashboard/data/outcomes": usage_report.DAYS,
    **keys.QUERIES,
    **orgs.QUERIES,
    **reports.QUERIES,
}


def routes(settings: Settings) -> list[web.RouteDef]:
    """What there is with these settings."""
    pages = [*_PAGES, *(_ADMINISTRATION if settings.admin_key else [])]
    if settings.aliases and settings.served.voices:
        pages.append(voices)
    return [*docs.routes(settings), *(route for each in pages for route in each.ROUTES)]
