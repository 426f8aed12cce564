"""Duration and failures of calls to Redis."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from frontend.observe.metrics import REDIS_ERRORS, REDIS_SECONDS

# Errors that ``redis_call`` raises if Redis does not answer.
REDIS_AWAY = (OSError, TimeoutError)


@contextmanager
def redis_call(use: str) -> Iterator[None]:
    """Measure one call; count any error but a cancellation as a failure.

    Errors of redis-py become ``ConnectionError``, so that callers need not import that library. A cancellation always
    propagates: before Python 3.12, ``asyncio.wait_for``, which redis-py uses, can lose one.
    """
    began, errors, cancelled = time.perf_counter(), REDIS_ERRORS.labels(use), _cancellations()
    try:
        yield
    except Exception as error:
        errors.inc()
        if isinstance(error, OSError | TimeoutError):
            raise
        from redis.exceptions import RedisError

        if isinstance(error, RedisError):
            raise ConnectionError(str(error)) from error
        raise
    finally:
        REDIS_SECONDS.labels(use).observe(time.perf_counter() - began)
        if _cancellations() > cancelled:
            raise asyncio.CancelledError


def _cancellations() -> int:
    """How many cancellations the running task has received."""
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0
