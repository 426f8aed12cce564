"""The address that a request comes from."""

from aiohttp import hdrs, web

from frontend.config.settings import Settings


def address_of(request: web.Request, settings: Settings) -> str:
    """The address of the caller, or of the nearest untrusted proxy; empty over a Unix socket."""
    return settings.proxies.caller(request.remote or "", request.headers.getall(hdrs.X_FORWARDED_FOR, []))
