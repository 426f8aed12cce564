"""The typed keys under which the application holds its parts."""

from aiohttp import web

from frontend.access.caller import Caller, Identifies
from frontend.access.debts import Unpaid, WrongKeys
from frontend.access.limits import Limiter
from frontend.access.registry import Registry
from frontend.config.settings import Settings
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.model_queue import Turn
from frontend.dispatch.pool import Pool
from frontend.http.held import Held, Holding
from frontend.http.json import JsonBodies
from frontend.operations.chat.pipeline import ChatPipeline
from frontend.operations.embeddings.pipeline import EmbeddingPipeline
from frontend.operations.rerank.pipeline import RerankPipeline
from frontend.operations.speech.pipeline import SpeechPipeline
from frontend.operations.transcription.pipeline import TranscriptionPipeline
from frontend.usage.bill import Bill
from frontend.usage.books import Books
from frontend.usage.recorder import Recorder

SETTINGS = web.AppKey("settings", Settings)
ADMIN: web.AppKey[Identifies] = web.AppKey("admin")
API_KEYS: web.AppKey[Identifies] = web.AppKey("api_keys")
TOKENS: web.AppKey[Identifies] = web.AppKey("tokens")
WRONG_KEYS = web.AppKey("wrong_keys", WrongKeys)
LIMITER = web.AppKey("limiter", Limiter)
DISPATCHER = web.AppKey("dispatcher", Dispatcher)
REGISTRY = web.AppKey("registry", Registry)
BOOKS = web.AppKey("books", Books)
RECORDER = web.AppKey("recorder", Recorder)
UNPAID = web.AppKey("unpaid", Unpaid)
HELD = web.AppKey("held", Held)
JSON_BODIES = web.AppKey("json_bodies", JsonBodies)
AUDIO = web.AppKey("audio", Pool)
TEXT = web.AppKey("text", Pool)
THREADS = web.AppKey("threads", Pool)
BILL = web.RequestKey("bill", Bill)
CALLER = web.RequestKey("caller", Caller)
HOLDING = web.RequestKey("holding", Holding)
TURN = web.RequestKey("turn", Turn)
TRANSCRIPTION = web.AppKey("transcription", TranscriptionPipeline)
SPEECH = web.AppKey("speech", SpeechPipeline)
EMBEDDINGS = web.AppKey("embeddings", EmbeddingPipeline)
CHAT = web.AppKey("chat", ChatPipeline)
RERANK = web.AppKey("rerank", RerankPipeline)
