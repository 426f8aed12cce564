"""Chat, if an upstream is set."""

from contextlib import AsyncExitStack

from aiohttp import web

from frontend.app_keys import DISPATCHER, LISTED_MODELS, SETTINGS
from frontend.catalogue.extensions import CHAT_MODELS
from frontend.catalogue.models import CHAT as OPERATION
from frontend.extensions.chat import handler, openapi
from frontend.extensions.chat.pipeline import ChatPipeline
from frontend.rings import Ring


async def _start(app: web.Application, closing: AsyncExitStack) -> None:
    settings, dispatcher = app[SETTINGS], app[DISPATCHER]
    dispatcher.add_local_queue(OPERATION, max(1, settings.chat_concurrency // settings.workers))
    app[handler.PIPELINE] = pipeline = ChatPipeline(settings, dispatcher)
    closing.push_async_callback(pipeline.close)
    if CHAT_MODELS in settings.served.extensions:
        app[LISTED_MODELS].append(pipeline.models.entries)


CHAT = Ring(
    is_on=lambda settings: bool(settings.chat_upstream),
    routes=lambda settings: handler.ROUTES,
    start=_start,
    describe=lambda settings: openapi.describe(settings.served),
)
