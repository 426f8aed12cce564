"""POST /v1/rerank."""

from aiohttp import web

from frontend.body import read_json
from frontend.keys import BILL, RERANK, SETTINGS, TURN
from frontend.operations.rerank import protocol
from frontend.render import json_response


async def rerank(request: web.Request) -> web.Response:
    """A query and documents in, the documents' order out."""
    parsed = protocol.parse(await read_json(request, request.app[SETTINGS]))
    answer = await request.app[RERANK].run(parsed, request[TURN], request[BILL].reserve)
    return json_response(protocol.render(answer, parsed))


ROUTES = [web.post("/v1/rerank", rerank)]
