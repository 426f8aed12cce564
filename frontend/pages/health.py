"""GET /health/live and /health/ready."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from aiohttp import web

from frontend.app_keys import AUDIO, DISPATCHER, RECORDER, SETTINGS, TEXT
from frontend.config.reading import SettingsError
from frontend.http.rendering import json_response
from frontend.http.state import SERVER_STATE
from frontend.tritons.inference import State


@dataclass(frozen=True)
class Required:
    """The models that readiness requires: each of ``names``, or with ``any_one`` at least one."""

    names: frozenset[str] = frozenset()
    any_one: bool = False

    @classmethod
    def of(cls, setting: str, served: Sequence[str]) -> "Required":
        """Parse the setting. Raises ``SettingsError`` for a model that is not ``served``."""
        if setting in ("any", "none"):
            return cls(any_one=setting == "any")
        names = served if setting == "all" else [name.strip() for name in setting.split(",")]
        for name in names:
            if name not in served:
                raise SettingsError(f"QUARTET_READY_MODELS: there is no model {name!r}; {', '.join(served)}")
        return cls(frozenset(names))

    def met_by(self, states: Mapping[str, State]) -> bool:
        """Whether requests can be served.

        An unfit model always fails readiness: its export computes wrong numbers on this machine. Otherwise a rolling
        update would go on with such a release.
        """
        if self.any_one:
            return State.READY in states.values() and State.UNFIT not in states.values()
        return all(states[name] is State.READY for name in self.names)


REQUIRED = web.AppKey("required", Required)


async def live(request: web.Request) -> web.Response:
    return json_response({"status": "live"})


def _reason(app: web.Application, states: Mapping[str, State]) -> str:
    """Why requests must go elsewhere; empty if ready."""
    if app[SERVER_STATE].stopping:
        return "this frontend is shutting down"
    if not app[REQUIRED].met_by(states):
        return "required models are not ready"
    if not (app[AUDIO].works and app[TEXT].works):
        return "the worker processes for audio or text have died and are restarting"
    return "" if app[RECORDER].can_charge else "charges cannot be written to disk"


async def ready(request: web.Request) -> web.Response:
    """Whether this process can serve: required models, task processes and charges work."""
    app = request.app
    states, workers = app[DISPATCHER].states(app[SETTINGS].served.triton_models), app[SERVER_STATE].workers
    reason = _reason(app, states)
    body: dict[str, Any] = {"status": "not ready" if reason else "ready", "models": states}
    body |= {"reason": reason} if reason else {}
    body |= {"workers": asdict(workers.read())} if workers is not None else {}
    return json_response(body, status=503 if reason else 200)


ROUTES = [web.get("/health/live", live), web.get("/health/ready", ready)]
