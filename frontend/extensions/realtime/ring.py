"""Live speech, which is transcription with another way in."""

from contextlib import AsyncExitStack

from aiohttp import web

from frontend.app_keys import API_KEYS, CHARGES, SETTINGS, THREADS, TRANSCRIPTION, UNBILLED_WORK
from frontend.catalogue.endpoints import Paths
from frontend.catalogue.extensions import REALTIME as NAME
from frontend.catalogue.models import TRANSCRIPTIONS
from frontend.config.settings import Settings
from frontend.extensions.realtime import handler, openapi
from frontend.extensions.realtime.pipeline import PATH, LivePipeline
from frontend.extensions.realtime.subprotocols import key_of
from frontend.rings import Ring


def _is_on(settings: Settings) -> bool:
    return NAME in settings.served.extensions and TRANSCRIPTIONS in settings.operations


async def _start(app: web.Application, closing: AsyncExitStack) -> None:
    app[handler.PIPELINE] = LivePipeline(
        app[SETTINGS], app[TRANSCRIPTION], app[THREADS], app[UNBILLED_WORK], app[CHARGES], app[API_KEYS]
    )


REALTIME = Ring(
    is_on=_is_on,
    routes=lambda settings: handler.ROUTES,
    # A session counts as one transcription when it opens.
    paths=Paths(like={PATH: "/v1/audio/transcriptions"}, queries={PATH: handler.QUERY}),
    keys={PATH: key_of},
    start=_start,
    describe=lambda settings: openapi.describe(settings.served),
)
