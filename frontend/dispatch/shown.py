"""What the metrics tell of one Triton: it is part of the sums of its pool, and leaves them when it goes."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import Gauge

from frontend.errors import ApiError, BadAnswer, BrokenModel, Internal, Late, Unreached
from frontend.observe.metrics import (
    BACKEND_ERRORS,
    BACKENDS,
    BACKENDS_UP,
    CALL_SECONDS,
    CALLS_RUNNING,
    MODEL_RELOADS,
    SLOTS,
)
from frontend.observe.record import current

_ERRORS: Mapping[type[ApiError], str] = {
    Unreached: "unreached",
    Late: "late",
    BrokenModel: "broken",
    BadAnswer: "bad_answer",
    Internal: "refused",
}
_FAILED = "failed"


def pool_of(name: str) -> str:
    """The pool of a Triton, which is called ``pool/address``."""
    return name.partition("/")[0]


def calls_running(backend: str, model: str, queue: str, tier: str) -> Gauge:
    """The calls of a tier that have a slot of this Triton's pool."""
    return CALLS_RUNNING.labels(pool_of(backend), model, queue, tier)


class Shown:
    """One of the Tritons of ``pool``, from its start to its end."""

    def __init__(self, pool: str, models: Iterable[str]) -> None:
        self._pool, self._up = pool, False
        self._slots: Counter[str] = Counter()
        BACKENDS.labels(pool).inc()
        self.answers(False)
        for model in models:
            self.slots(model, 0)
            for error in (*_ERRORS.values(), _FAILED):
                BACKEND_ERRORS.labels(pool, model, error)
            for outcome in ("loaded", "failed"):
                MODEL_RELOADS.labels(pool, model, outcome)

    def close(self) -> None:
        """It is no more."""
        BACKENDS.labels(self._pool).dec()
        self.answers(False)
        for model in self._slots:
            self.slots(model, 0)

    def answers(self, up: bool) -> None:
        """What its last probe came to."""
        BACKENDS_UP.labels(self._pool).inc(up - self._up)
        self._up = up

    def slots(self, model: str, slots: int) -> None:
        """How many calls of a model it may have."""
        SLOTS.labels(self._pool, model).inc(slots - self._slots[model])
        self._slots[model] = slots

    @contextmanager
    def call(self, model: str) -> Iterator[None]:
        """Around a call: how long it took, or why it came to nothing."""
        began = time.monotonic()
        try:
            record = current()
            with record.backend, record.tracer.call("triton", {"model": model, "pool": self._pool}):
                yield
        except ApiError as error:
            BACKEND_ERRORS.labels(self._pool, model, _ERRORS.get(type(error), _FAILED)).inc()
            raise
        CALL_SECONDS.labels(model).observe(time.monotonic() - began)
