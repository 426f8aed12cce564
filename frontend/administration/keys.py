"""Typed keys of the administration's parts."""

from aiohttp import web

from frontend.administration.registry import Registry
from frontend.administration.usage.queries import UsageQueries

REGISTRY = web.AppKey("registry", Registry)
USAGE = web.AppKey("usage", UsageQueries)
