"""The metrics of the core; ``make documents`` lists them in docs/metrics.md."""

from frontend.catalogue.models import CHAT, EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS
from frontend.observe.table import Group

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_WAITS = (0.001, *_SECONDS[1:])
_STORE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_BYTES = (1e3, 1e4, 1e5, 1e6, 1e7, 25 * 1024**2, 1e8)

_requests = Group("Requests")
REQUESTS = _requests.counter(
    "quartet_requests_total",
    "Requests that ended, with or without an answer.",
    "requests",
    *("operation", "route", "method", "status", "tier"),
)
REQUEST_SECONDS = _requests.histogram(
    "quartet_request_seconds",
    "Time from a request's headers to the end of its answer; live sessions have none.",
    "seconds",
    *("operation", "tier", "outcome"),
    buckets=_SECONDS,
)
REQUESTS_IN_FLIGHT = _requests.gauge(
    "quartet_requests_in_flight", "Requests in progress, from their headers on.", "requests", "operation"
)
REFUSALS = _requests.counter(
    "quartet_refusals_total",
    "Requests rejected for a limit, balance, key, queue or size.",
    "requests",
    *("operation", "reason"),
)
BODY_BYTES = _requests.histogram(
    "quartet_body_bytes", "Received bytes of a request's body.", "bytes", "operation", buckets=_BYTES
)
ANSWER_BYTES = _requests.histogram(
    "quartet_answer_bytes", "Sent bytes of an answer, headers included.", "bytes", "operation", buckets=_BYTES
)
CONNECTIONS = _requests.gauge("quartet_connections", "Open connections.", "connections")
CONNECTIONS_REFUSED = _requests.counter(
    "quartet_connections_refused_total",
    "Connections rejected because there were too many, in total or per address.",
    "connections",
)
HELD_BYTES = _requests.gauge("quartet_held_bytes", "Memory of request bodies, audio samples and answers.", "bytes")

_queues = Group("Queues")
QUEUE_SECONDS = _queues.histogram(
    "quartet_queue_seconds",
    "Time a call waits in its model's queue.",
    "seconds",
    *("model", "tier"),
    buckets=_WAITS,
)
QUEUE_WAITING = _queues.gauge("quartet_queue_waiting", "Calls that wait in the queue.", "calls", "model", "tier")
IN_FLIGHT = _queues.gauge("quartet_in_flight", "Calls sent and not yet answered.", "calls", "pool", "model", "tier")
IN_FLIGHT_BOUND = _queues.gauge(
    "quartet_in_flight_bound",
    "The most calls this frontend may have in flight: two batches per instance, divided between frontends; or its "
    "number of workers.",
    "calls",
    *("pool", "model"),
)
IN_FLIGHT_PER_TRITON = _queues.gauge(
    "quartet_in_flight_per_triton",
    "Calls that fill one Triton: two batches per instance, at the mean size of a call; 0 if none accepts calls.",
    "calls",
    "model",
    workers="livemax",
)
QUEUE_REFUSED = _queues.counter(
    "quartet_queue_refused_total", "Calls that a queue rejected or dropped.", "calls", "model", "reason"
)
BATCH_WORK = _queues.gauge(
    "quartet_batch_work",
    "Target work of one execution: the smallest with 95 % of the best throughput.",
    "tokens, seconds encoded, phonemes or calls",
    "model",
    workers="livemax",
)
BATCH_FILL = _queues.histogram(
    "quartet_batch_fill_ratio",
    "A call's work divided by quartet_batch_work; above 1 if the call cannot be cut.",
    "ratio",
    "model",
    buckets=(0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 2.0),
)
THROUGHPUT = _queues.gauge(
    "quartet_throughput",
    "Work per second of this frontend while calls wait, as last measured.",
    "tokens, seconds encoded, phonemes or calls per second",
    "model",
)

_tritons = Group("Tritons")
BACKENDS = _tritons.gauge("quartet_backends", "Known Tritons.", "Tritons", "pool", workers="livemax")
BACKENDS_UP = _tritons.gauge(
    "quartet_backends_up", "Tritons that answered their last probe.", "Tritons", "pool", workers="livemin"
)
CALL_SECONDS = _tritons.histogram(
    "quartet_call_seconds", "Time of an answered call at its Triton.", "seconds", "model", buckets=_SECONDS
)
BACKEND_ERRORS = _tritons.counter(
    "quartet_backend_errors_total", "Calls that failed at their Triton.", "calls", "pool", "model", "error"
)
MODEL_READY = _tritons.gauge(
    "quartet_model_ready", "1 while at least one Triton accepts calls of the model.", "bool", "model", workers="livemin"
)
MODEL_EXPORT = _tritons.gauge(
    "quartet_model_export_info",
    "1, with the precision in which a model was exported and those that failed their checks; no series if unknown.",
    "bool",
    *("model", "way", "skipped"),
    workers="livemax",
)
MODEL_RELOADS = _tritons.counter(
    "quartet_model_reloads_total",
    "Models loaded again after their process died or their load failed.",
    "loads",
    *("pool", "model", "outcome"),
)

_work = Group("Work and money")
AUDIO_SECONDS = _work.counter("quartet_audio_seconds_total", "Charged audio of transcriptions.", "seconds", "model")
CHARACTERS = _work.counter("quartet_characters_total", "Charged text of speech.", "code points", "model")
TOKENS = _work.counter("quartet_tokens_total", "Charged tokens of embeddings, rerank and chat.", "tokens", "model")
CHARGED = _work.counter(
    "quartet_charged_micro_chf_total",
    "Charges sent to the ledger; retries that an earlier charge covers add nothing.",
    "micro-CHF",
    "operation",
)
USAGE_WAITING = _work.gauge("quartet_usage_waiting", "Charges on disk that are not yet in the database.", "charges")
USAGE_UNWRITABLE = _work.gauge(
    "quartet_usage_unwritable",
    "1 while charges cannot be written to disk; priced requests are rejected.",
    "bool",
    workers="livemax",
)
OUTCOMES_LOST = _work.counter(
    "quartet_outcomes_lost_total",
    "Requests missing in the dashboard's outcomes, because the database was down.",
    "requests",
)

_stores = Group("Redis and the database")
REDIS_SECONDS = _stores.histogram(
    "quartet_redis_seconds", "Time of a Redis call, failed ones included.", "seconds", "use", buckets=_STORE_SECONDS
)
REDIS_ERRORS = _stores.counter("quartet_redis_errors_total", "Redis calls that failed or timed out.", "calls", "use")
LIMITER_DEGRADED = _stores.gauge(
    "quartet_limiter_degraded", "1 while Redis is down and each frontend counts alone.", "bool", workers="livemax"
)
DATABASE_SECONDS = _stores.histogram(
    "quartet_database_seconds", "Time of a successful database statement.", "seconds", buckets=_STORE_SECONDS
)
DATABASE_ERRORS = _stores.counter("quartet_database_errors_total", "Failed connections and statements.", "errors")

_process = Group("The process")
BUILD = _process.gauge("quartet_build_info", "1, with the running version.", "bool", "version", workers="livemax")
LOOP_DELAY_SECONDS = _process.histogram(
    "quartet_loop_delay_seconds",
    "Delay of the event loop: how late a timer fires.",
    "seconds",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1),
)
DRAINING = _process.gauge(
    "quartet_draining",
    "1 while this frontend shuts down: it finishes requests and accepts no more.",
    "bool",
    workers="livemax",
)
WORKERS = _process.gauge("quartet_workers", "Processes of this frontend that accept requests.", "processes")
STARTED = _process.gauge(
    "quartet_start_time_seconds",
    "Time of the last start of one of those processes, since 1970.",
    "seconds",
    workers="max",
)
WORKERS_KILLED = _process.counter(
    "quartet_workers_killed_total",
    "Audio and text processes that died or were killed; each was replaced.",
    "processes",
    *("pool", "reason"),
)
SPANS_LOST = _process.counter("quartet_spans_lost_total", "Spans that no collector accepted.", "spans")
LOG_DROPPED = _process.counter(
    "quartet_log_dropped_total", "Log lines dropped because the log's reader was too slow.", "lines"
)

# Create label sets at 0: rate() ignores the first sample of a new series.
for _operation in (TRANSCRIPTIONS, SPEECH, EMBEDDINGS, RERANK, CHAT, "other"):
    for _reason in ("limit", "balance", "auth", "queue", "size"):
        REFUSALS.labels(_operation, _reason)
for _pool in ("audio", "text"):
    for _reason in ("late", "died", "memory", "hung_up"):
        WORKERS_KILLED.labels(_pool, _reason)

GROUPS = (_requests, _queues, _tritons, _work, _stores, _process)
