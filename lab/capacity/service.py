"""Runs a plan at its peak, and records what callers see."""

import asyncio
import dataclasses
import random
from collections.abc import Iterable, Mapping

from frontend.catalogue.voices import VOICES
from lab.capacity.arrivals import Arrival, arrivals
from lab.capacity.beats import Board
from lab.capacity.callers import Outcome, call
from lab.capacity.clock import run
from lab.capacity.frontend import Frontend
from lab.capacity.machine import Machine
from lab.capacity.triton import SimulatedTriton
from scripts.capacity.fits import Fits, ModelFit
from scripts.capacity.sizing import POOL_OF, Choices, Sizes
from scripts.capacity.traffic import MODEL_OF

Outcomes = list[tuple[Arrival, Outcome]]
_ZONES = ("a", "b", "c")
_VOICE = MODEL_OF["speech"]
# The most seconds until a frontend finds a Triton, and until calls in flight at the end are answered.
_FOUND_SECONDS, _END_SECONDS = 1.0, 600.0


def peak(fits: Fits, sizes: Sizes, choices: Choices, seconds: float, seed: int) -> Outcomes:
    """The outcomes of the calls within ``seconds``. Equal seeds give equal outcomes. ``sizes`` may have no GPUs."""
    if sizes.gpus:
        raise SystemExit("plans with --gpu cannot be simulated: the times of batches on a GPU are unknown")
    fitted = _with_voices(fits.fitted_to(choices.cores))
    window = fitted.models[MODEL_OF["transcriptions"]].window_seconds
    return run(_answered(fitted, sizes, choices, arrivals(sizes.traffic, seconds, seed, window), random.Random(seed)))


def _with_voices(fits: Fits) -> Fits:
    """Fits of all voices, each like the measured one."""
    voices = {voice.triton_model: fits.models[_VOICE] for voice in VOICES.values()}
    return dataclasses.replace(fits, models={**fits.models, **voices})


def _models_of(fits: Fits, pool: str) -> Mapping[str, ModelFit]:
    """The models of a pool, with only the default Whisper."""
    models = {MODEL_OF[operation] for operation, of_operation in POOL_OF.items() if of_operation == pool}
    return {
        name: fit
        for name, fit in fits.models.items()
        if name in models or (_VOICE in models and name.startswith("piper_"))
    }


async def _answered(
    fits: Fits, sizes: Sizes, choices: Choices, calls: Iterable[Arrival], rng: random.Random
) -> Outcomes:
    frontends = _frontends(fits, sizes, choices)
    await _find_tritons(fits, sizes, choices, frontends, rng)
    await asyncio.gather(*(frontend.start() for frontend in frontends))
    loop = asyncio.get_running_loop()
    began, ended, under_way = loop.time(), Outcomes(), set[asyncio.Task[None]]()

    async def one(arrival: Arrival) -> None:
        outcome = await call(
            lambda: rng.choice(frontends).answer(arrival.request, arrival.key, arrival.tier), random.Random(arrival.at)
        )
        ended.append((arrival, dataclasses.replace(outcome, arrived=outcome.arrived - began)))

    for arrival in calls:
        await asyncio.sleep(began + arrival.at - loop.time())
        task = asyncio.create_task(one(arrival))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    if under_way:
        await asyncio.wait(under_way, timeout=_END_SECONDS)
    await asyncio.gather(*(frontend.close() for frontend in frontends))
    return ended


def _frontends(fits: Fits, sizes: Sizes, choices: Choices) -> list[Frontend]:
    board = Board()
    return [
        Frontend(f"frontend-{at:04}", fits, Machine(choices.frontend_cores), board, _ZONES[at % len(_ZONES)])
        for at in range(sizes.frontends)
    ]


async def _find_tritons(
    fits: Fits, sizes: Sizes, choices: Choices, frontends: list[Frontend], rng: random.Random
) -> None:
    """Every frontend finds all Tritons of the plan, each a moment after the other."""

    async def find(frontend: Frontend, name: str, triton: SimulatedTriton, zone: str) -> None:
        await asyncio.sleep(rng.random() * _FOUND_SECONDS)
        await frontend.found(name, triton, zone)

    finding = []
    for pool in sizes.pools:
        for at in range(pool.tritons):
            triton = SimulatedTriton(_models_of(fits, pool.name), Machine(choices.cores))
            where = f"{pool.name}/{at}", triton, _ZONES[at % len(_ZONES)]
            finding += [find(frontend, *where) for frontend in frontends]
    await asyncio.gather(*finding)
