"""The application: creates its parts in order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial

from aiohttp import web

from frontend import app_keys as keys
from frontend.access.admin_key import AdminKey
from frontend.access.counters import MemoryCounters
from frontend.access.jwks import Jwks
from frontend.access.jwt import Tokens
from frontend.access.known_keys import KnownKeys
from frontend.access.limits import Counters, Limiter, SharedCounters
from frontend.access.registry import Registry
from frontend.access.throttles import UnbilledWorkThrottle, WrongKeys
from frontend.audio.detector import load_detector
from frontend.catalogue.exports import read_exports
from frontend.catalogue.models import CHAT, EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS
from frontend.catalogue.version import VERSION
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
from frontend.middleware.auth import auth_middleware
from frontend.middleware.billing import billing_middleware, refuse_uncharged
from frontend.middleware.context import context_middleware
from frontend.middleware.cors import cors_middleware
from frontend.middleware.errors import errors_middleware
from frontend.middleware.limits import limits_middleware
from frontend.middleware.ports import ports_middleware
from frontend.middleware.query import query_middleware
from frontend.middleware.request_id import add_headers, request_id_middleware
from frontend.observe.metrics import BUILD, MODEL_EXPORT
from frontend.observe.tracing import OFF
from frontend.operations.chat import handler as chat
from frontend.operations.chat.pipeline import ChatPipeline
from frontend.operations.embeddings import handler as embeddings
from frontend.operations.embeddings.pipeline import EmbeddingPipeline
from frontend.operations.rerank import handler as rerank
from frontend.operations.rerank.pipeline import RerankPipeline
from frontend.operations.speech import handler as speech
from frontend.operations.speech.pipeline import SpeechPipeline
from frontend.operations.transcription import handler as transcription
from frontend.operations.transcription.pipeline import TranscriptionPipeline
from frontend.pages import health, metrics
from frontend.pages.missing import missing_middleware
from frontend.pages.routes import QUERIES, routes
from frontend.peers.frontends import FixedFrontends, Frontends, SharedFrontends
from frontend.processes.background import Repeating, measure_loop_delay
from frontend.processes.offload import Offload, Threads, import_once
from frontend.text.phonemes import load_phonemizer
from frontend.tritons.triton import Triton
from frontend.usage.ledger import IdempotencyWindow
from frontend.usage.outcomes import Outcomes
from frontend.usage.queries import UsageQueries
from frontend.usage.recorder import Recorder

_FRONTENDS: web.AppKey[Frontends] = web.AppKey("frontends")
_AUDIO_TASKS = 1_000
# Seconds per audio task. Two hours of noise take a small, busy processor one minute.
_AUDIO_SECONDS = 90.0
# Tasks per text worker. espeak-ng's bridge leaks about 13 bytes per character, so workers are renewed.
_TEXT_TASKS = 20_000
_TEXT_SECONDS = 20.0
# Modules that both kinds of worker import.
_WORKED_WITH = ("frontend.audio.prepare", "frontend.text.phonemes", "frontend.http.json")
# Without Redis, frontends stagger their reload attempts by up to this many seconds.
_APART_SECONDS = 2.0

_ROUTES = {
    TRANSCRIPTIONS: transcription.ROUTES,
    SPEECH: speech.ROUTES,
    EMBEDDINGS: embeddings.ROUTES,
    RERANK: rerank.ROUTES,
    CHAT: chat.ROUTES,
}


async def _frontends(app: web.Application) -> AsyncIterator[None]:
    """State exchange between the frontends of the same Tritons."""
    settings = app[keys.SETTINGS]
    if settings.redis:
        app[_FRONTENDS] = SharedFrontends(
            settings.redis, lambda: app[keys.DISPATCHER].snapshot(), lambda: app[keys.DISPATCHER].share()
        )
    else:
        app[_FRONTENDS] = FixedFrontends(settings.frontends, _APART_SECONDS if settings.frontends > 1 else 0.0)
    yield
    await app[_FRONTENDS].close()


async def _access(app: web.Application) -> AsyncIterator[None]:
    """Access: the key database, the keys of mobile tokens, and request counters."""
    settings = app[keys.SETTINGS]
    async with AsyncExitStack() as closing:
        engine = open_engine(settings.database, settings.database_connections)
        closing.push_async_callback(engine.dispose)
        await migrate(engine)
        registry = Registry(engine)
        known = KnownKeys(registry)
        closing.push_async_callback(known.close)
        known.start()
        jwks = Jwks(settings.jwt_jwks, settings.jwt_jwks_seconds) if settings.jwt_jwks else None
        if jwks is not None:
            closing.push_async_callback(jwks.close)
            await jwks.start()
        counters: Counters = MemoryCounters()
        if isinstance(frontends := app[_FRONTENDS], SharedFrontends):
            counters = SharedCounters(frontends, refuse=settings.redis_outage == "refuse")
            closing.push_async_callback(counters.close)
            await counters.start()
        app[keys.REGISTRY] = registry
        app[keys.API_KEYS] = known
        app[keys.ADMIN] = AdminKey(settings.admin_key)
        app[keys.TOKENS] = Tokens(
            settings.jwt_audience, settings.jwt_issuer, settings.jwt_secret, jwks, settings.jwt_leeway_seconds
        )
        app[keys.WRONG_KEYS] = WrongKeys(settings.wrong_keys_a_minute)
        app[keys.LIMITER] = Limiter(counters, settings.limits, settings.tiers)
        yield


async def _usage(app: web.Application) -> AsyncIterator[None]:
    """Usage records. They have their own connections, so that key look-ups never wait for them."""
    settings = app[keys.SETTINGS]
    async with AsyncExitStack() as closing:
        engine = open_engine(settings.database, settings.database_connections)
        closing.push_async_callback(engine.dispose)
        repeats = IdempotencyWindow(settings.repeat_seconds, settings.repeat_answers)
        recorder = Recorder(engine, settings.usage_folder, repeats)
        closing.push_async_callback(recorder.close)
        await recorder.start()
        outcomes = Outcomes(engine)
        closing.push_async_callback(outcomes.close)
        outcomes.start()
        app[keys.RECORDER] = recorder
        app[keys.OUTCOMES] = outcomes
        app[keys.USAGE] = UsageQueries(engine)
        yield


async def _tracing(app: web.Application) -> AsyncIterator[None]:
    """Tracing. It closes last, so that all spans are sent."""
    settings, tracer = app[keys.SETTINGS], OFF
    if settings.otlp_endpoint:
        # Without tracing, OpenTelemetry is not imported.
        from frontend.observe.otlp import OtlpTracer

        tracer = OtlpTracer(settings.otlp_endpoint, settings.trace_ratio)
    app[keys.TRACER] = tracer
    yield
    await asyncio.to_thread(tracer.close)


async def _watch(app: web.Application) -> AsyncIterator[None]:
    """Measurement of the event loop's delay."""
    watching = Repeating(0.0, measure_loop_delay)
    watching.start()
    yield
    await watching.close()


async def _dispatch(app: web.Application) -> AsyncIterator[None]:
    """Dispatch: the model queues and this process's worker pools."""
    settings = app[keys.SETTINGS]
    rules = Rules(settings.queue_age_seconds, hold_seconds=settings.queue_hold_seconds)
    bounds = Bounds(settings.queue_per_key, settings.queue_per_tier)
    dispatcher = Dispatcher(rules, bounds, app[_FRONTENDS], settings.floors, settings.request_seconds, settings.zone)
    import_once(_WORKED_WITH)
    audio = Offload("audio", settings.audio_workers, tasks=_AUDIO_TASKS, seconds=_AUDIO_SECONDS, prepare=load_detector)
    text = Offload("text", settings.text_workers, tasks=_TEXT_TASKS, seconds=_TEXT_SECONDS, prepare=load_phonemizer)
    app[keys.DISPATCHER] = dispatcher
    app[keys.AUDIO] = WorkerQueue(dispatcher.add_local_queue("audio", settings.audio_workers), audio)
    app[keys.TEXT] = WorkerQueue(dispatcher.add_local_queue("text", settings.text_workers), text)
    app[keys.THREADS] = WorkerQueue(dispatcher.add_local_queue("threads", settings.threads), Threads(settings.threads))
    yield
    for pool in (app[keys.AUDIO], app[keys.TEXT], app[keys.THREADS]):
        await pool.close()


async def _operations(app: web.Application) -> AsyncIterator[None]:
    """The body readers and the pipelines."""
    settings, dispatcher = app[keys.SETTINGS], app[keys.DISPATCHER]
    audio, text, threads = app[keys.AUDIO], app[keys.TEXT], app[keys.THREADS]
    app[keys.MEMORY_BUDGET] = MemoryBudget(settings.held_bytes)
    app[keys.JSON_BODIES] = JsonBodies(settings, text)
    app[keys.UNPAID] = UnbilledWorkThrottle(settings.unpaid_seconds)
    app[keys.TRANSCRIPTION] = TranscriptionPipeline(settings, dispatcher, audio, threads, app[keys.UNPAID])
    app[keys.SPEECH] = SpeechPipeline(settings, dispatcher, text, threads, app[keys.UNPAID])
    app[keys.EMBEDDINGS] = EmbeddingPipeline(settings, dispatcher, threads)
    app[keys.RERANK] = RerankPipeline(settings, dispatcher, threads)
    if settings.chat_upstream:
        dispatcher.add_local_queue(CHAT, max(1, settings.chat_concurrency // settings.workers))
        app[keys.CHAT] = ChatPipeline(settings, dispatcher)
    yield
    if settings.chat_upstream:
        await app[keys.CHAT].close()


async def _tritons(app: web.Application, connect: Connect) -> AsyncIterator[None]:
    """The Tritons, connected after the pipelines have registered their models' test calls."""
    settings, dispatcher = app[keys.SETTINGS], app[keys.DISPATCHER]
    served, resolver = settings.served.triton_models, Resolver(settings.dns)
    async with AsyncExitStack() as closing:
        await app[_FRONTENDS].start()
        closing.push_async_callback(dispatcher.close)
        found = [
            Discovery(pool, slots, dispatcher, resolver, connect, settings.resolve_seconds)
            for pool in settings.tritons
            if (slots := pool.slots(served, settings.concurrency))
        ]
        for discovery in found:
            closing.push_async_callback(discovery.close)
        await asyncio.gather(*(discovery.start() for discovery in found))
        yield


def create_app(settings: Settings, connect: Connect = Triton) -> web.Application:
    """Assemble the application, which starts nothing yet. ``connect`` creates the Triton client."""
    app = web.Application(
        middlewares=[
            request_id_middleware,  # adds the request id to every answer, refusals included
            errors_middleware,  # turns exceptions into answers
            missing_middleware,  # shows a page for unknown paths
            ports_middleware,
            cors_middleware,  # before authentication: browsers send preflight requests without a key
            auth_middleware,  # before any body is read
            limits_middleware,
            query_middleware(QUERIES),
            context_middleware,
            billing_middleware,
        ],
        client_max_size=settings.max_body_bytes,
    )
    BUILD.labels(VERSION).set(1)
    app[keys.SETTINGS] = settings
    app[keys.EXPORTS] = read_exports(settings.model_repository, settings.served.triton_models)
    for model, export in app[keys.EXPORTS].items():
        if export.way:
            MODEL_EXPORT.labels(model, export.way, ",".join(export.skipped_ways)).set(1)
    app[metrics.METRICS] = metrics.MetricsPage()
    app[health.REQUIRED] = health.Required.of(settings.ready_models, settings.served.triton_models)
    tritons = partial(_tritons, connect=connect)
    app.cleanup_ctx.extend([_tracing, _frontends, _access, _usage, _dispatch, _operations, tritons, _watch])
    app.on_response_prepare.extend([add_headers, refuse_uncharged])
    for operation in settings.operations:
        app.add_routes(_ROUTES[operation])
    app.add_routes(routes(settings))
    return app
