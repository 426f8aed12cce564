"""The application: what it is made of, in the order it is made."""

from collections.abc import AsyncIterator, Callable

from aiohttp import web

from frontend import keys
from frontend.access.keys import FixedKey
from frontend.audio.speech_windows import load_detector
from frontend.config import Settings
from frontend.dispatch.queue import Dispatcher
from frontend.middleware.auth import auth_middleware
from frontend.middleware.errors import errors_middleware
from frontend.middleware.request_id import request_id_middleware
from frontend.offload import Offload
from frontend.operations.embeddings import handler as embeddings
from frontend.operations.embeddings.pipeline import EmbeddingPipeline
from frontend.operations.rerank import handler as rerank
from frontend.operations.rerank.pipeline import RerankPipeline
from frontend.operations.speech import handler as speech
from frontend.operations.speech.pipeline import SpeechPipeline
from frontend.operations.transcription import handler as transcription
from frontend.operations.transcription.pipeline import TranscriptionPipeline
from frontend.pages import health, models
from frontend.text.phonemes import load_phonemizer
from frontend.triton import Triton

_CONNECT: web.AppKey[Callable[[str, float], Triton]] = web.AppKey("connect")
_AUDIO_TASKS = 1_000
# espeak-ng's bridge leaks some 13 bytes a character: a worker is renewed before that matters.
_PHONEME_TASKS = 20_000


async def _operations(app: web.Application) -> AsyncIterator[None]:
    """The parts that live as long as the event loop: the gRPC channel, the worker pools, the pipelines."""
    settings = app[keys.SETTINGS]
    triton = app[_CONNECT](settings.triton, settings.request_seconds)
    audio = Offload(settings.audio_workers, tasks=_AUDIO_TASKS, prepare=load_detector)
    phonemes = Offload(settings.phoneme_workers, tasks=_PHONEME_TASKS, prepare=load_phonemizer)
    dispatcher = Dispatcher(settings.concurrency)
    app[keys.TRITON] = triton
    app[keys.TRANSCRIPTION] = TranscriptionPipeline(settings, triton, dispatcher, audio)
    app[keys.SPEECH] = SpeechPipeline(settings, triton, dispatcher, phonemes)
    app[keys.EMBEDDINGS] = EmbeddingPipeline(settings, triton, dispatcher)
    app[keys.RERANK] = RerankPipeline(settings, triton, dispatcher)
    yield
    await triton.close()
    await audio.close()
    await phonemes.close()


def create_app(settings: Settings, connect: Callable[[str, float], Triton] = Triton) -> web.Application:
    """Wire everything together; nothing runs until the application starts. ``connect`` makes the Triton client."""
    app = web.Application(
        middlewares=[
            request_id_middleware,  # names everything that follows, refusals included
            errors_middleware,  # turns what the rest raises into answers
            auth_middleware({"/v1/": FixedKey(settings.api_key).identify}),  # before any body is read
        ],
        client_max_size=settings.max_body_bytes,
    )
    app[keys.SETTINGS] = settings
    app[_CONNECT] = connect
    app.cleanup_ctx.append(_operations)
    for room in (transcription, speech, embeddings, rerank, health, models):
        app.add_routes(room.ROUTES)
    return app
