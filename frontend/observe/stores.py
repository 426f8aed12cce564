"""How long Redis and the database take, and how often they fail."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from frontend.observe.metrics import REDIS_ERRORS, REDIS_SECONDS

# What leaves ``asking_redis`` where Redis does not answer.
REDIS_AWAY = (OSError, TimeoutError)


@contextmanager
def asking_redis(use: str) -> Iterator[None]:
    """Around one question; whatever ends it but a cancellation is counted as a failure.

    Errors of redis-py leave it as ``ConnectionError``: who asks need not know the library, which is long to import. A
    cancellation always leaves it: before Python 3.12 ``asyncio.wait_for``, by which redis-py sends, can lose one.
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
    """How often the task that asks was told to end."""
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0
