"""GET /health/live and /health/ready."""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from frontend.app_keys import AUDIO, CHARGES, DISPATCHER, SETTINGS, TEXT
from frontend.config.settings import Settings
from frontend.http.rendering import json_response
from frontend.http.state import SERVER_STATE
from frontend.tritons.inference import State


def _are_ready(settings: Settings, states: Mapping[str, State]) -> bool:
    """Whether the required models are ready.

    If any one model is enough, an unfit one still fails readiness: its export computes wrong numbers on this machine,
    and a rolling update must stop at such a release.
    """
    if settings.ready_models == "any":
        return State.READY in states.values() and State.UNFIT not in states.values()
    return all(states[name] is State.READY for name in settings.required_models)


async def live(request: web.Request) -> web.Response:
    return json_response({"status": "live"})


def _reason(app: web.Application, states: Mapping[str, State]) -> str:
    """Why requests must go elsewhere; empty if ready."""
    if app[SERVER_STATE].closing:
        return "this frontend is shutting down"
    if not _are_ready(app[SETTINGS], states):
        return "required models are not ready"
    if not (app[AUDIO].works and app[TEXT].works):
        return "the worker processes for audio or text have died and are restarting"
    return "" if app[CHARGES].can_add else "charges cannot be written to disk"


async def ready(request: web.Request) -> web.Response:
    """Whether this process can serve: required models, task processes and charges work."""
    app = request.app
    states = app[DISPATCHER].states(app[SETTINGS].served.triton_models)
    reason = _reason(app, states)
    body: dict[str, Any] = {"status": "not ready" if reason else "ready", "models": states}
    body |= {"reason": reason} if reason else {}
    return json_response(body, status=503 if reason else 200)


ROUTES = [web.get("/health/live", live), web.get("/health/ready", ready)]
