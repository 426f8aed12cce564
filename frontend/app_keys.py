"""Typed keys of the application's parts."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from aiohttp import web
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access.caller import Caller, Identifies
from frontend.access.limits import Limiter
from frontend.access.open_keys import OpenKeys
from frontend.access.throttles import UnbilledWorkThrottle, WrongKeys
from frontend.billing.bill import BILLING as BILLING
from frontend.billing.charges import Charges
from frontend.catalogue.endpoints import Paths
from frontend.catalogue.exports import Export
from frontend.concurrency.turnstile import Turnstile
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.http.answers import CONTEXT as CONTEXT
from frontend.http.answers import HEADERS as HEADERS
from frontend.http.answers import MEMORY_RESERVATION as MEMORY_RESERVATION
from frontend.http.answers import SETTINGS as SETTINGS
from frontend.http.json import JsonBodies
from frontend.http.memory import MemoryBudget
from frontend.observe.tracing import Tracer
from frontend.operations.embeddings.pipeline import EmbeddingPipeline
from frontend.operations.rerank.pipeline import RerankPipeline
from frontend.operations.speech.pipeline import SpeechPipeline
from frontend.operations.transcription.pipeline import TranscriptionPipeline
from frontend.rings import Ring

ADMIN: web.AppKey[Identifies] = web.AppKey("admin")
API_KEYS: web.AppKey[Identifies] = web.AppKey("api_keys")
OPEN_KEYS = web.AppKey("open_keys", OpenKeys)
TOKENS: web.AppKey[Identifies] = web.AppKey("tokens")
WRONG_KEYS = web.AppKey("wrong_keys", WrongKeys)
UNAUTHENTICATED = web.AppKey("unauthenticated", Turnstile)
EXPORTS: web.AppKey[Mapping[str, Export]] = web.AppKey("exports")
LIMITER = web.AppKey("limiter", Limiter)
DISPATCHER = web.AppKey("dispatcher", Dispatcher)
KEY_DATABASE = web.AppKey("key_database", AsyncEngine)
USAGE_DATABASE = web.AppKey("usage_database", AsyncEngine)
# What lists models beside the served ones: their entries by id.
LISTED_MODELS: web.AppKey[list[Callable[[], Awaitable[Mapping[str, Any]]]]] = web.AppKey("listed_models")
RINGS: web.AppKey[Sequence[Ring]] = web.AppKey("rings")
PATHS = web.AppKey("paths", Paths)
CHARGES = web.AppKey("charges", Charges)
UNBILLED_WORK = web.AppKey("unbilled_work", UnbilledWorkThrottle)
MEMORY_BUDGET = web.AppKey("memory_budget", MemoryBudget)
JSON_BODIES = web.AppKey("json_bodies", JsonBodies)
AUDIO = web.AppKey("audio", WorkerQueue)
TEXT = web.AppKey("text", WorkerQueue)
THREADS = web.AppKey("threads", WorkerQueue)
TRACER: web.AppKey[Tracer] = web.AppKey("tracer")
CALLER = web.RequestKey("caller", Caller)
TRANSCRIPTION = web.AppKey("transcription", TranscriptionPipeline)
SPEECH = web.AppKey("speech", SpeechPipeline)
EMBEDDINGS = web.AppKey("embeddings", EmbeddingPipeline)
RERANK = web.AppKey("rerank", RerankPipeline)
