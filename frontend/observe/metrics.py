"""Every metric there is; ``make documents`` tells of them in docs/metrics.md."""

from frontend.catalogue.models import CHAT, EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS
from frontend.observe.table import Group

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_WAITS = (0.001, *_SECONDS[1:])
_STORE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_BYTES = (1e3, 1e4, 1e5, 1e6, 1e7, 25 * 1024**2, 1e8)

_requests = Group("Requests")
REQUESTS = _requests.counter(
    "quartet_requests_total",
    "Requests that have ended, answered or not.",
    "requests",
    *("operation", "route", "method", "status", "tier"),
)
REQUEST_SECONDS = _requests.histogram(
    "quartet_request_seconds",
    "Time from a request's headers to its end.",
    "seconds",
    *("operation", "tier", "outcome"),
    buckets=_SECONDS,
)
REQUESTS_IN_FLIGHT = _requests.gauge(
    "quartet_requests_in_flight", "Requests whose headers have come and that have not ended.", "requests", "operation"
)
REFUSALS = _requests.counter(
    "quartet_refusals_total",
    "Requests that were refused for something else than a mistake in them.",
    "requests",
    *("operation", "reason"),
)
BODY_BYTES = _requests.histogram(
    "quartet_body_bytes", "What came of a request's body.", "bytes", "operation", buckets=_BYTES
)
ANSWER_BYTES = _requests.histogram(
    "quartet_answer_bytes", "What went out of an answer, its head included.", "bytes", "operation", buckets=_BYTES
)
CONNECTIONS = _requests.gauge("quartet_connections", "Connections that are open.", "connections")
CONNECTIONS_REFUSED = _requests.counter(
    "quartet_connections_refused_total", "Connections beyond the bounds, in all or of one address.", "connections"
)
HELD_BYTES = _requests.gauge("quartet_held_bytes", "Bodies, samples and answers that are held.", "bytes")

_queues = Group("Queues")
QUEUE_SECONDS = _queues.histogram(
    "quartet_queue_seconds",
    "Time from a call's arrival at the queue of its model until it is sent.",
    "seconds",
    *("model", "tier"),
    buckets=_WAITS,
)
QUEUE_WAITING = _queues.gauge("quartet_queue_waiting", "Calls that wait for their turn.", "calls", "model", "tier")
IN_FLIGHT = _queues.gauge(
    "quartet_in_flight", "Calls that were sent and have not ended.", "calls", "pool", "model", "tier"
)
IN_FLIGHT_BOUND = _queues.gauge(
    "quartet_in_flight_bound",
    "Calls that this frontend may have in flight: two batches of each instance of a pool's Tritons, or its part of "
    "them; or its workers.",
    "calls",
    *("pool", "model"),
)
IN_FLIGHT_PER_TRITON = _queues.gauge(
    "quartet_in_flight_per_triton",
    "Calls that fill one Triton: two batches of each instance, by the mean work of a call; 0 while none takes calls.",
    "calls",
    "model",
    workers="livemax",
)
QUEUE_REFUSED = _queues.counter(
    "quartet_queue_refused_total", "Calls that a queue did not take, or gave up.", "calls", "model", "reason"
)
BATCH_WORK = _queues.gauge(
    "quartet_batch_work",
    "Work that one execution should have now: the least that reaches 95 % of the best throughput.",
    "tokens, seconds of audio, phonemes or calls",
    "model",
    workers="livemax",
)
BATCH_FILL = _queues.histogram(
    "quartet_batch_fill_ratio",
    "The work of a call by quartet_batch_work: which part of an execution it is. More than 1 is what cannot be cut.",
    "ratio",
    "model",
    buckets=(0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 2.0),
)
THROUGHPUT = _queues.gauge(
    "quartet_throughput",
    "Work a second that this frontend gets done while calls wait, as it was measured last.",
    "tokens, seconds of audio, phonemes or calls a second",
    "model",
)

_tritons = Group("Tritons")
BACKENDS = _tritons.gauge("quartet_backends", "Tritons that are known.", "Tritons", "pool", workers="livemax")
BACKENDS_UP = _tritons.gauge(
    "quartet_backends_up", "Tritons that answered their last probe.", "Tritons", "pool", workers="livemin"
)
CALL_SECONDS = _tritons.histogram(
    "quartet_call_seconds", "Time of a call at its Triton that was answered.", "seconds", "model", buckets=_SECONDS
)
BACKEND_ERRORS = _tritons.counter(
    "quartet_backend_errors_total", "Calls that failed at their Triton.", "calls", "pool", "model", "error"
)
MODEL_READY = _tritons.gauge(
    "quartet_model_ready", "1 while some Triton can take calls of a model.", "bool", "model", workers="livemin"
)
MODEL_EXPORT = _tritons.gauge(
    "quartet_model_export_info",
    "1, with the way in which a model was exported and the ways that failed their checks before; no series where the "
    "export did not say.",
    "bool",
    *("model", "way", "skipped"),
    workers="livemax",
)
MODEL_RELOADS = _tritons.counter(
    "quartet_model_reloads_total",
    "Models that were loaded anew because their process had died or their load had failed.",
    "loads",
    *("pool", "model", "outcome"),
)

_work = Group("Work and money")
AUDIO_SECONDS = _work.counter(
    "quartet_audio_seconds_total", "Audio of transcripts that were charged.", "seconds", "model"
)
CHARACTERS = _work.counter("quartet_characters_total", "Text of speech that was charged.", "code points", "model")
TOKENS = _work.counter(
    "quartet_tokens_total", "Tokens of vectors, scores and chats that were charged.", "tokens", "model"
)
CHARGED = _work.counter(
    "quartet_charged_micro_chf_total",
    "What the ledger has been told to charge; a repeat that an earlier charge pays for adds nothing.",
    "micro-CHF",
    "operation",
)
USAGE_WAITING = _work.gauge("quartet_usage_waiting", "Charges on disk that the database does not have yet.", "charges")
USAGE_UNWRITABLE = _work.gauge(
    "quartet_usage_unwritable",
    "1 while charges cannot be written to the disk, so that what has a price is refused.",
    "bool",
    workers="livemax",
)
OUTCOMES_LOST = _work.counter(
    "quartet_outcomes_lost_total",
    "Requests that the dashboard's counts of outcomes lack: the database was away for long, or at the end.",
    "requests",
)

_stores = Group("Redis and the database")
REDIS_SECONDS = _stores.histogram(
    "quartet_redis_seconds", "Time of a question to Redis, failed ones too.", "seconds", "use", buckets=_STORE_SECONDS
)
REDIS_ERRORS = _stores.counter(
    "quartet_redis_errors_total", "Questions that Redis did not answer in time or at all.", "questions", "use"
)
LIMITER_DEGRADED = _stores.gauge(
    "quartet_limiter_degraded", "1 while Redis is away and each frontend counts on its own.", "bool", workers="livemax"
)
DATABASE_SECONDS = _stores.histogram(
    "quartet_database_seconds", "Time of a statement that the database answered.", "seconds", buckets=_STORE_SECONDS
)
DATABASE_ERRORS = _stores.counter("quartet_database_errors_total", "Connections and statements that failed.", "errors")

_process = Group("The process")
BUILD = _process.gauge("quartet_build_info", "1, with the version that runs.", "bool", "version", workers="livemax")
LOOP_DELAY_SECONDS = _process.histogram(
    "quartet_loop_delay_seconds",
    "How much later than it should the event loop came to a timer.",
    "seconds",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1),
)
DRAINING = _process.gauge(
    "quartet_draining", "1 while this frontend answers what has come and wants no more.", "bool", workers="livemax"
)
GROUP_ACCEPTING = _process.gauge(
    "quartet_group_accepting", "Workers of this frontend that accept requests.", "workers", workers="livemax"
)
GROUP_LEAVING = _process.gauge(
    "quartet_group_leaving", "Workers that finish what they have begun, and end.", "workers", workers="livemax"
)
GROUP_RESTARTS = _process.gauge(
    "quartet_group_restarts",
    "Workers that ended by themselves and were started again, since this frontend began.",
    "workers",
    workers="livemax",
)
WORKERS_KILLED = _process.counter(
    "quartet_workers_killed_total",
    "Processes for audio and text that died, idle or at work, or were ended with their task; each was replaced.",
    "processes",
    *("pool", "reason"),
)
SPANS_LOST = _process.counter("quartet_spans_lost_total", "Spans that no collector took.", "spans")
LOG_DROPPED = _process.counter("quartet_log_dropped_total", "Log lines that nobody read in time.", "lines")

# A series that begins with its first event hides that one from every rate: what there can be begins at nothing.
for _operation in (TRANSCRIPTIONS, SPEECH, EMBEDDINGS, RERANK, CHAT, "other"):
    for _reason in ("limit", "balance", "auth", "queue", "size"):
        REFUSALS.labels(_operation, _reason)
for _pool in ("audio", "text"):
    for _reason in ("late", "died", "memory", "hung_up"):
        WORKERS_KILLED.labels(_pool, _reason)

GROUPS = (_requests, _queues, _tritons, _work, _stores, _process)
