"""Every metric there is."""

import os

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

# Where several workers add up their metrics; prometheus_client itself reads this variable when it is imported.
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

REQUEST_SECONDS = Histogram(
    "quartet_request_seconds",
    "Time from a request's headers to its answer.",
    ("method", "route", "status"),
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)
LOOP_DELAY_SECONDS = Histogram(
    "quartet_loop_delay_seconds",
    "How much later than it should the event loop came to a timer.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1),
)
LIMITER_DEGRADED = Gauge(
    "quartet_limiter_degraded",
    "1 while Redis is away and each frontend counts on its own.",
    multiprocess_mode="livemax",
)
QUEUE_SECONDS = Histogram(
    "quartet_queue_seconds",
    "Time from a call's arrival at the queue of its model to its slot.",
    ("model", "tier"),
    buckets=(0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)
QUEUE_WAITING = Gauge(
    "quartet_queue_waiting", "Calls that wait for a slot of their model.", ("model",), multiprocess_mode="livesum"
)
QUEUE_RUNNING = Gauge(
    "quartet_queue_running", "Calls that have a slot of their model.", ("model",), multiprocess_mode="livesum"
)
QUEUE_PIECE = Gauge(
    "quartet_queue_piece",
    "Work that one call of a model has at most now: tokens, seconds of audio, phonemes.",
    ("model",),
    multiprocess_mode="livemax",
)
QUEUE_REFUSED = Counter(
    "quartet_queue_refused_total", "Calls that were refused: away, full, or too late.", ("model", "reason")
)
BACKEND_SLOTS = Gauge(
    "quartet_backend_slots",
    "Calls of a model that a Triton may have at once; 0 while it is out.",
    ("backend", "model"),
    multiprocess_mode="livesum",
)
MODEL_READY = Gauge(
    "quartet_model_ready", "1 while some Triton can take calls of a model.", ("model",), multiprocess_mode="livemin"
)
MODEL_RELOADS = Counter(
    "quartet_model_reloads_total",
    "Models that were loaded anew because their process had died or their load had failed: loaded, failed.",
    ("backend", "model", "outcome"),
)
USAGE_WAITING = Gauge(
    "quartet_usage_waiting", "Charges on disk that the database does not have yet.", multiprocess_mode="livesum"
)
USAGE_UNWRITABLE = Gauge(
    "quartet_usage_unwritable",
    "1 while charges cannot be written to the disk, so that what has a price is refused.",
    multiprocess_mode="livemax",
)
CONNECTIONS = Gauge("quartet_connections", "Connections that are open.", multiprocess_mode="livesum")
CONNECTIONS_REFUSED = Counter(
    "quartet_connections_refused_total", "Connections beyond the bounds, in all or of one address."
)
HELD_BYTES = Gauge(
    "quartet_held_bytes", "Bytes of bodies, samples and answers that are held.", multiprocess_mode="livesum"
)
LOG_DROPPED = Counter("quartet_log_dropped_total", "Log lines that nobody read in time.")


def metrics() -> bytes:
    """Every metric of this process, or of all workers together, in Prometheus's text format."""
    registry = REGISTRY
    if METRICS_FOLDER in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def forget_process(pid: int, folder: str) -> None:
    """Drop what held only while a worker lived; what it counted stays."""
    mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
