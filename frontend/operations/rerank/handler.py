"""POST /v1/rerank."""

from aiohttp import web

from frontend.app_keys import BILL, HOLDING, JSON_BODIES, RERANK, TURN
from frontend.http.rendering import json_response
from frontend.operations.rerank import protocol


async def rerank(request: web.Request) -> web.Response:
    """A query and documents in, the documents' order out."""
    turn = request[TURN]
    parsed = await request.app[JSON_BODIES].read(request, request[HOLDING], turn, protocol.parse)
    answer = await request.app[RERANK].run(parsed, turn, request[BILL].reserve)
    return json_response(protocol.render(answer, parsed))


ROUTES = [web.post("/v1/rerank", rerank)]
