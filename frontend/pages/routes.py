"""Everything that is looked at beside the operations, by people and by machines."""

from aiohttp import web

from frontend.config.settings import Settings
from frontend.operations.speech.handler import NAMES
from frontend.pages import (
    dashboard,
    docs,
    health,
    home,
    metrics,
    models,
    offer,
    openapi,
    static_files,
    usage_report,
)
from frontend.pages.admin import keys, orgs, reports
from frontend.pages.static_files import page_routes, policy

_PAGES = (static_files, home, health, models, metrics, offer, openapi, dashboard)
# The four operations, tried in a browser with an API key; it plays what it was given and what was answered, and records
# where its visitor says so.
_PLAYGROUND = page_routes("playground", policy(media="blob:", microphone="self"))
_ADMINISTRATION = (keys, orgs, reports)
# In a browser, all of it over /admin/v1.
_ADMINISTRATION_PAGE = page_routes("keys", policy())
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
    pages, found = [*_PAGES], [*docs.routes(settings), *_PLAYGROUND]
    if settings.admin_key:
        pages += _ADMINISTRATION
        found += _ADMINISTRATION_PAGE
    if settings.aliases and settings.served.voices:
        found.append(NAMES)
    return [*found, *(route for each in pages for route in each.ROUTES)]
