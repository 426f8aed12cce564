"""POST /v1/embeddings."""

from aiohttp import web

from frontend.app_keys import BILL, EMBEDDINGS, HOLDING, JSON_BODIES, TURN
from frontend.http.rendering import json_response
from frontend.operations.embeddings import protocol


async def embed(request: web.Request) -> web.Response:
    """Texts in, vectors out."""
    turn = request[TURN]
    parsed = await request.app[JSON_BODIES].read(request, request[HOLDING], turn, protocol.parse_openai)
    answer = await request.app[EMBEDDINGS].run(parsed, turn, request[BILL].reserve)
    return json_response(protocol.render_openai(answer, parsed))


ROUTES = [web.post("/v1/embeddings", embed)]
