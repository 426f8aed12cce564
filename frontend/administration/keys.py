"""Typed keys of the administration's parts."""

from aiohttp import web

from frontend.administration.registry import Registry
from frontend.administration.usage.outcomes import Outcomes
from frontend.administration.usage.queries import UsageQueries

REGISTRY = web.AppKey("registry", Registry)
OUTCOMES = web.AppKey("outcomes", Outcomes)
USAGE = web.AppKey("usage", UsageQueries)
