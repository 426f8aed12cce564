"""Everything that is looked at beside the operations, by people and by machines."""

from aiohttp import web

from frontend.config.settings import Settings
from frontend.pages import (
    admin,
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

_PAGES = (static_files, home, health, models, metrics, offer, openapi, playground, dashboard)

# The query parameters of each path that has some.
QUERIES = {
    "/dashboard/data/usage": usage_report.PARAMETERS,
    "/dashboard/data/outcomes": usage_report.DAYS,
    "/admin/v1/usage": (*usage_report.PARAMETERS, *admin.SCOPE),
}


def routes(settings: Settings) -> list[web.RouteDef]:
    """What there is with these settings."""
    pages = [*_PAGES, *([admin] if settings.admin_key else [])]
    if settings.aliases and settings.served.voices:
        pages.append(voices)
    return [*docs.routes(settings), *(route for page in pages for route in page.ROUTES)]
