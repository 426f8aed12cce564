"""Definitions of metrics, for Prometheus and for docs/metrics.md, and their labels."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics, values

from frontend.observe import METRICS_NUMBER

# Created timestamps would double the series of every counter.
disable_created_metrics()  # type: ignore[no-untyped-call]
# One of several workers counts in files, and continues the counts of the dead one that had its number. Its child
# processes inherit no number.
_number = os.environ.pop(METRICS_NUMBER, "")
values.ValueClass = (
    values.MultiProcessValue(lambda: _number) if _number else values.MutexValue  # type: ignore[no-untyped-call]
)

# The functions of gauges that are read when they are scraped.
_functions: dict[Gauge, Callable[[], float]] = {}

# The possible values of each label. Callers choose none.
LABELS: Mapping[str, str] = {
    "error": "`unreached`, `late`, `broken` (the model's process died), `bad_answer`, `refused` (our request was "
    "wrong), `failed`",
    "method": "the route's method, else `other`",
    "model": "a model of the repository, or `audio`, `text`, `threads` (workers of a frontend), `chat`; for "
    "charges, the API's model name",
    "operation": "`transcriptions`, `speech`, `embeddings`, `rerank`, `chat`; else `other`",
    "outcome": "requests: `ok`, `refused` (4xx), `failed` (5xx), `hung_up` (disconnected); reloads: `loaded`, `failed`",
    "pool": "a pool of the settings, or `audio`, `text`, `threads`, `chat`",
    "reason": "requests: `limit`, `balance`, `auth`, `queue`, `size`; calls: `away`, `full`, `late`; killed "
    "workers: `late`, `died`, `memory`, `hung_up`",
    "route": "the path's pattern, such as `/v1/models/{id}`; `other` for unknown paths",
    "skipped": "comma-separated, in the order of the attempts; empty if the first passed",
    "status": "the answer's status; 499 if the caller disconnected",
    "tier": "`bulk`, `free`, `pro`, `company`; `none` for unknown callers",
    "use": "`limits`, `frontends` (messages between frontends), `locks`",
    "version": "Quartet's",
    "way": "`int8`, `int8 by CTranslate2`, `bf16`, `fp32`, `fp16`; voices: `rewritten`, `original`",
}


class _Gauge(Gauge):
    def set_function(self, f: Callable[[], float]) -> None:
        super().set_function(f)
        _functions[self] = f


async def write_gauges() -> None:
    """Write the results of functions to files: a scrape may come to another worker, which cannot call them."""
    for gauge, function in _functions.items():
        gauge.set(function())


_Metric = TypeVar("_Metric", Counter, Gauge, Histogram)


def _with_quick_labels(metric: _Metric) -> _Metric:
    """Remember the child of each set of labels, which ``prometheus_client`` looks up under a lock as text.

    A request counts with a dozen of them.
    """
    metric.labels = cache(metric.labels)  # type: ignore[method-assign]
    return metric


@dataclass(frozen=True)
class Row:
    """One metric, as docs/metrics.md lists it."""

    name: str
    type: str
    unit: str
    labels: Sequence[str]
    help: str


@dataclass(frozen=True)
class Group:
    """Creates the metrics of one subject and keeps a row for each."""

    title: str
    rows: list[Row] = field(default_factory=list)

    def counter(self, name: str, help: str, unit: str, *labels: str) -> Counter:
        """A value that only grows. Workers are summed, ended ones included."""
        self.rows.append(Row(name, "counter", unit, labels, help))
        return _with_quick_labels(Counter(name, help, labels))

    def gauge(self, name: str, help: str, unit: str, *labels: str, workers: str = "livesum") -> Gauge:
        """A current value. ``workers`` says how to combine workers: livesum, livemax, livemin or max."""
        self.rows.append(Row(name, "gauge", unit, labels, help))
        gauge = _Gauge(name, help, labels, multiprocess_mode=workers)  # type: ignore[arg-type]
        return _with_quick_labels(gauge)

    def histogram(self, name: str, help: str, unit: str, *labels: str, buckets: Sequence[float]) -> Histogram:
        """Counts of values up to each bucket, and their sum."""
        self.rows.append(Row(name, "histogram", unit, labels, help))
        return _with_quick_labels(Histogram(name, help, labels, buckets=buckets))
