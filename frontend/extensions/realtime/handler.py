"""GET /v1/realtime, a WebSocket."""

from collections.abc import Sequence

from aiohttp import WSCloseCode, hdrs, web

from frontend.app_keys import CALLER, CONTEXT, MEMORY_RESERVATION, SETTINGS
from frontend.errors import BadGateway, InvalidRequest
from frontend.extensions.realtime.pipeline import PATH, LivePipeline
from frontend.extensions.realtime.protocol import QUERY as PARAMETERS
from frontend.extensions.realtime.protocol import SessionConfig
from frontend.extensions.realtime.session import Session
from frontend.extensions.realtime.subprotocols import REALTIME, key_of, offered
from frontend.extensions.realtime.transcriber import Transcriber
from frontend.extensions.realtime.wire import SessionEnd, Socket, Wire
from frontend.http.connection import ON_REVOKED, read_frames_with
from frontend.http.state import SERVER_STATE
from frontend.observe.logs import log

PIPELINE = web.AppKey("live", LivePipeline)
QUERY = tuple(each.name for each in PARAMETERS)


async def transcribe_live(request: web.Request) -> web.StreamResponse:
    settings, live = request.app[SETTINGS], request.app[PIPELINE]
    given = {each.name: each.read(request.query, settings.served) for each in PARAMETERS}
    config = SessionConfig(given["model"])
    protocols = offered(request.headers)
    # aiohttp would log the protocols of a client that offers none of ours, and a key may be one.
    if protocols and REALTIME not in protocols:
        raise InvalidRequest("Sec-WebSocket-Protocol must list realtime")
    socket = Socket(request)
    upgrade = _with_one_line(request, protocols)
    if not socket.can_prepare(upgrade):
        raise InvalidRequest("this path is a WebSocket: the request must ask for the upgrade")
    state = request.app[SERVER_STATE]
    if state.closing:
        raise BadGateway("this server is about to stop, retry")
    async with live.admitted(request[CALLER]) as counted:
        read_frames_with(request, socket.read_frames)
        await socket.prepare(upgrade)
        wire = Wire(socket, settings, live.turnstile)
        transcriber = Transcriber(live, wire, request[CONTEXT], key_of(request.headers))
        session = Session(live, wire, transcriber, request[CONTEXT], request[MEMORY_RESERVATION], config)
        state.leaving.add(session.leave)
        request[ON_REVOKED] = lambda failure: wire.end(WSCloseCode.POLICY_VIOLATION, failure)
        try:
            await session.run(counted.close)
        except ConnectionError:
            # The client has gone.
            pass
        except Exception:
            # No other answer can follow the upgrade.
            log.exception("unforeseen error")
            await wire.close(SessionEnd(WSCloseCode.INTERNAL_ERROR))
        finally:
            state.leaving.discard(session.leave)
            # Both refer to the session, and only garbage collection would free what refers to itself.
            del request[ON_REVOKED]
            socket.frames = None
    return socket


def _with_one_line(request: web.Request, protocols: Sequence[str]) -> web.Request:
    """The request with its protocols in one line: of several, aiohttp reads the first."""
    if not protocols:
        return request
    headers = request.headers.copy()
    headers[hdrs.SEC_WEBSOCKET_PROTOCOL] = ",".join(protocols)
    return request.clone(headers=headers)


ROUTES = [web.get(PATH, transcribe_live, allow_head=False)]
