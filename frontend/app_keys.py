"""Typed keys of the application's parts."""

from collections.abc import Mapping

from aiohttp import web

from frontend.access.caller import Caller, Identifies
from frontend.access.limits import Limiter
from frontend.access.throttles import UnbilledWorkThrottle, WrongKeys
from frontend.administration.registry import Registry
from frontend.catalogue.exports import Export
from frontend.concurrency.turnstile import Turnstile
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.extensions.chat.pipeline import ChatPipeline
from frontend.extensions.realtime.pipeline import LivePipeline
from frontend.http.answers import CONTEXT as CONTEXT
from frontend.http.answers import MEMORY_RESERVATION as MEMORY_RESERVATION
from frontend.http.answers import SETTINGS as SETTINGS
from frontend.http.json import JsonBodies
from frontend.http.memory import MemoryBudget
from frontend.observe.tracing import Tracer
from frontend.operations.embeddings.pipeline import EmbeddingPipeline
from frontend.operations.rerank.pipeline import RerankPipeline
from frontend.operations.speech.pipeline import SpeechPipeline
from frontend.operations.transcription.pipeline import TranscriptionPipeline
from frontend.usage.bill import Billing
from frontend.usage.outcomes import Outcomes
from frontend.usage.queries import UsageQueries
from frontend.usage.recorder import Recorder

ADMIN: web.AppKey[Identifies] = web.AppKey("admin")
API_KEYS: web.AppKey[Identifies] = web.AppKey("api_keys")
TOKENS: web.AppKey[Identifies] = web.AppKey("tokens")
WRONG_KEYS = web.AppKey("wrong_keys", WrongKeys)
UNAUTHENTICATED = web.AppKey("unauthenticated", Turnstile)
EXPORTS: web.AppKey[Mapping[str, Export]] = web.AppKey("exports")
LIMITER = web.AppKey("limiter", Limiter)
DISPATCHER = web.AppKey("dispatcher", Dispatcher)
REGISTRY = web.AppKey("registry", Registry)
USAGE = web.AppKey("usage", UsageQueries)
RECORDER = web.AppKey("recorder", Recorder)
OUTCOMES = web.AppKey("outcomes", Outcomes)
UNBILLED_WORK = web.AppKey("unbilled_work", UnbilledWorkThrottle)
MEMORY_BUDGET = web.AppKey("memory_budget", MemoryBudget)
JSON_BODIES = web.AppKey("json_bodies", JsonBodies)
AUDIO = web.AppKey("audio", WorkerQueue)
TEXT = web.AppKey("text", WorkerQueue)
THREADS = web.AppKey("threads", WorkerQueue)
TRACER: web.AppKey[Tracer] = web.AppKey("tracer")
BILLING = web.RequestKey("billing", Billing)
CALLER = web.RequestKey("caller", Caller)
TRANSCRIPTION = web.AppKey("transcription", TranscriptionPipeline)
LIVE = web.AppKey("live", LivePipeline)
SPEECH = web.AppKey("speech", SpeechPipeline)
EMBEDDINGS = web.AppKey("embeddings", EmbeddingPipeline)
CHAT = web.AppKey("chat", ChatPipeline)
RERANK = web.AppKey("rerank", RerankPipeline)
