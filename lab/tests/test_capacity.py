"""Simulated machines share cores, and simulated callers retry like OpenAI's client."""

import asyncio
import random
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from openai import OpenAI
from openai._models import FinalRequestOptions

from frontend.errors import ApiError, Busy, Internal
from lab.capacity.callers import TRIES, pause
from lab.capacity.clock import run
from lab.capacity.machine import Machine
from lab.capacity.service import peak
from scripts.capacity.fits import Fits
from scripts.capacity.sizing import Choices, size
from scripts.capacity.traffic import Traffic


def _ends(cores: float, jobs: Sequence[tuple[float, float, float]]) -> list[float]:
    """When jobs (start, seconds alone, width) end."""

    async def main() -> list[float]:
        machine = Machine(cores)

        async def one(start: float, seconds: float, width: float) -> float:
            await asyncio.sleep(start)
            await machine.run(seconds, width)
            return asyncio.get_running_loop().time()

        return list(await asyncio.gather(*(one(*job) for job in jobs)))

    return run(main())


@pytest.mark.parametrize(
    ("cores", "jobs", "ends"),
    [
        (2, [(0, 1, 1), (0, 3, 1)], [1, 3]),
        (1, [(0, 1, 1), (0, 3, 1)], [2, 4]),
        (2, [(0, 2, 2), (0, 2, 1)], [3, 3]),
        (1, [(0, 2, 1), (1, 2, 1)], [3, 4]),
        (2, [(0, 2, 8)], [2]),
    ],
    ids=["both fit", "they share a core", "three threads on two cores", "one comes later", "wider than the machine"],
)
def test_jobs_share_the_cores(cores: int, jobs: list[tuple[float, float, float]], ends: list[float]) -> None:
    assert _ends(cores, jobs) == pytest.approx(ends)


@pytest.mark.parametrize("tried", [1, 2])
@pytest.mark.parametrize("error", [Busy("wait", retry_after=7), Busy("wait", retry_after=120), Internal("broken")])
def test_callers_pause_as_long_as_openais_client(tried: int, error: ApiError) -> None:
    client, options = OpenAI(api_key="none", base_url="http://127.0.0.1:1"), FinalRequestOptions(method="post", url="/")
    response = client._client.build_request("POST", "/", headers=error.headers).headers
    with patch("openai._base_client.random", random.Random(3).random):
        wanted = client._calculate_retry_timeout(TRIES - tried, options, response)
    assert pause(tried, error, random.Random(3)) == pytest.approx(wanted)


def test_two_simulations_of_a_plan_have_equal_outcomes() -> None:
    fits, choices = Fits.load(), Choices(zones=3)
    runs = [peak(fits, size(fits, Traffic(20_000), choices), choices, 60.0, 1) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0]
    assert all(outcome.answered for _, outcome in runs[0])
