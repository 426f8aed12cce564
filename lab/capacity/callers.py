"""Callers like OpenAI's client: three tries with pauses, the server's if it sends one."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from frontend.errors import ApiError

# The values of openai 3.52 (_constants.py, _base_client.py), in seconds.
TRIES = 3
_FIRST_PAUSE, _LONGEST_PAUSE, _LONGEST_HONOURED = 0.5, 8.0, 120
_JITTER = 0.25
_LEAST_RETRIED = 500


@dataclass(frozen=True)
class Outcome:
    """When a call arrived, its seconds with pauses, and how many of its tries were ``refused``."""

    arrived: float
    seconds: float
    refused: int
    answered: bool


def pause(tried: int, error: ApiError, rng: random.Random) -> float | None:
    """Seconds until the next try after ``tried`` of them, or None if the client gives up."""
    if tried >= TRIES or error.status < _LEAST_RETRIED:
        return None
    asked = int(error.headers.get("Retry-After", 0))
    if asked > _LONGEST_HONOURED:
        return None
    backoff: float = min(_FIRST_PAUSE * 2 ** (tried - 1), _LONGEST_PAUSE)
    return asked or backoff * (1 - _JITTER * rng.random())


async def call(send: Callable[[], Awaitable[None]], rng: random.Random) -> Outcome:
    """Repeat ``send`` until it succeeds or the client gives up."""
    loop = asyncio.get_running_loop()
    arrived = loop.time()
    for tried in range(TRIES):
        try:
            await send()
        except ApiError as error:
            if (seconds := pause(tried + 1, error, rng)) is None:
                return Outcome(arrived, loop.time() - arrived, tried + 1, answered=False)
            await asyncio.sleep(seconds)
        else:
            break
    return Outcome(arrived, loop.time() - arrived, tried, answered=True)
