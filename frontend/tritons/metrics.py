"""The metrics of one Triton, summed per pool and removed when it leaves."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import Gauge

from frontend.errors import ApiError, BadAnswer, BrokenModel, Internal, Late, Unloaded, Unreached
from frontend.observe.metrics import (
    BACKEND_ERRORS,
    BACKENDS,
    BACKENDS_UP,
    CALL_SECONDS,
    IN_FLIGHT,
    IN_FLIGHT_BOUND,
    MODEL_RELOADS,
)
from frontend.observe.record import current

_ERRORS: Mapping[type[ApiError], str] = {
    Unreached: "unreached",
    Unloaded: "unreached",
    Late: "late",
    BrokenModel: "broken",
    BadAnswer: "bad_answer",
    Internal: "refused",
}
_FAILED = "failed"


def pool_of(name: str) -> str:
    """The pool of a backend; the backend's name is ``pool/address``."""
    return name.partition("/")[0]


def calls_in_flight(backend: str, model: str, tier: str) -> Gauge:
    """The gauge of a tier's calls in flight in this backend's pool."""
    return IN_FLIGHT.labels(pool_of(backend), model, tier)


class BackendMetrics:
    """The metrics of one Triton of ``pool``."""

    def __init__(self, pool: str, models: Iterable[str]) -> None:
        self._pool, self._up = pool, False
        self._bounds: Counter[str] = Counter()
        BACKENDS.labels(pool).inc()
        self.set_up(False)
        for model in models:
            self.set_bound(model, 0)
            for error in (*_ERRORS.values(), _FAILED):
                BACKEND_ERRORS.labels(pool, model, error)
            for outcome in ("loaded", "failed"):
                MODEL_RELOADS.labels(pool, model, outcome)

    def close(self) -> None:
        """Remove this Triton from the sums."""
        BACKENDS.labels(self._pool).dec()
        self.set_up(False)
        for model in self._bounds:
            self.set_bound(model, 0)

    def set_up(self, up: bool) -> None:
        """Set whether the last probe succeeded."""
        BACKENDS_UP.labels(self._pool).inc(up - self._up)
        self._up = up

    def set_bound(self, model: str, calls: int) -> None:
        """Set the most calls of a model in flight."""
        IN_FLIGHT_BOUND.labels(self._pool, model).inc(calls - self._bounds[model])
        self._bounds[model] = calls

    @contextmanager
    def call(self, model: str) -> Iterator[None]:
        """Measure the call in the block: its seconds, or its error."""
        began = time.monotonic()
        try:
            record = current()
            with record.backend, record.tracer.call("triton", {"model": model, "pool": self._pool}):
                yield
        except ApiError as error:
            BACKEND_ERRORS.labels(self._pool, model, _ERRORS.get(type(error), _FAILED)).inc()
            raise
        CALL_SECONDS.labels(model).observe(time.monotonic() - began)
