"""POST /v1/embeddings."""

from aiohttp import web

from frontend.body import read_json
from frontend.keys import BILL, EMBEDDINGS, SETTINGS, TURN
from frontend.operations.embeddings import protocol
from frontend.render import json_response


async def embed(request: web.Request) -> web.Response:
    """Texts in, vectors out."""
    parsed = protocol.parse_openai(await read_json(request, request.app[SETTINGS]))
    answer = await request.app[EMBEDDINGS].run(parsed, request[TURN], request[BILL].reserve)
    return json_response(protocol.render_openai(answer, parsed.encoding_format))


ROUTES = [web.post("/v1/embeddings", embed)]
