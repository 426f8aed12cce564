"""GET /v1/realtime, a WebSocket."""

from aiohttp import WSCloseCode, web

from frontend.app_keys import CALLER, CONTEXT, MEMORY_RESERVATION, SETTINGS
from frontend.catalogue.models import TRANSCRIPTIONS
from frontend.errors import BadGateway, InvalidRequest
from frontend.extensions.realtime.pipeline import PATH, LivePipeline
from frontend.extensions.realtime.protocol import SessionConfig
from frontend.extensions.realtime.session import Session
from frontend.extensions.realtime.subprotocols import BETA, REALTIME, key_of, offered
from frontend.extensions.realtime.transcriber import Transcriber
from frontend.extensions.realtime.wire import SessionEnd, Socket, Wire
from frontend.http import fields
from frontend.http.connection import ON_REVOKED, ends_connection, on_leaving
from frontend.observe.logs import log

PIPELINE = web.AppKey("live", LivePipeline)
QUERY = ("intent", "model")
_INTENT = "transcription"
# The header of clients from before the release.
_BETA_HEADER = "OpenAI-Beta"


async def transcribe_live(request: web.Request) -> web.StreamResponse:
    settings, live = request.app[SETTINGS], request.app[PIPELINE]
    config = SessionConfig(fields.model(request.query, settings.served.model_names(TRANSCRIPTIONS)))
    fields.choice(request.query, "intent", (_INTENT,), _INTENT)
    protocols = offered(request.headers)
    # aiohttp would log the protocols of a client that offers none of ours, and a key may be one.
    if protocols and REALTIME not in protocols:
        raise InvalidRequest("Sec-WebSocket-Protocol must list realtime")
    socket = Socket(request)
    if not socket.can_prepare(request):
        raise InvalidRequest("this path is a WebSocket: the request must ask for the upgrade")
    if ends_connection(request):
        raise BadGateway("this server is about to stop, retry")
    beta = BETA in protocols or "realtime" in request.headers.get(_BETA_HEADER, "")
    async with live.admitted(request[CALLER]) as place:
        await socket.prepare(request)
        wire = Wire(socket, settings, live.turnstile)
        transcriber = Transcriber(live, wire, request[CONTEXT], key_of(request.headers))
        session = Session(live, wire, transcriber, request[CONTEXT], request[MEMORY_RESERVATION], config, beta=beta)
        on_leaving(request, session.leave)
        request[ON_REVOKED] = lambda failure: wire.end(WSCloseCode.POLICY_VIOLATION, failure)
        try:
            await session.run(place.close)
        except ConnectionError:
            # The client has gone.
            pass
        except Exception:
            # No other answer can follow the upgrade.
            log.exception("unforeseen error")
            await wire.close(SessionEnd(WSCloseCode.INTERNAL_ERROR))
    return socket


ROUTES = [web.get(PATH, transcribe_live, allow_head=False)]
