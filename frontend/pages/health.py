"""GET /health/live and /health/ready."""

from aiohttp import web

from frontend.dispatch.backends import State
from frontend.http.rendering import json_response
from frontend.keys import DISPATCHER, RECORDER
from frontend.operations.embeddings.pipeline import TRITON_MODEL as EMBEDDER
from frontend.operations.rerank.pipeline import TRITON_MODEL as RERANKER
from frontend.operations.speech.voices import CATALOGUE
from frontend.operations.transcription.protocol import MODELS as STT_MODELS

TRITON_MODELS = (*STT_MODELS.values(), *(f"piper_{voice}" for voice in CATALOGUE), EMBEDDER, RERANKER)


async def live(request: web.Request) -> web.Response:
    """The process answers."""
    return json_response({"status": "live"})


async def ready(request: web.Request) -> web.Response:
    """Every model can take requests, on one Triton or another, and what they cost can be written down."""
    states = request.app[DISPATCHER].states(TRITON_MODELS)
    is_ready = set(states.values()) == {State.READY} and request.app[RECORDER].can_charge
    return json_response({"status": "ready" if is_ready else "not ready"}, status=200 if is_ready else 503)


ROUTES = [web.get("/health/live", live), web.get("/health/ready", ready)]
