"""Runs that answer a question: does a plan hold at its peak, what does a lost zone do, which signal is to scale by."""

import dataclasses
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from frontend.catalogue.voices import VOICES
from frontend.config.settings import Settings
from scripts.capacity.fits import Fits, Line, ModelFit, RequestFit
from scripts.capacity.larger import fitted_to
from scripts.capacity.requests import MODEL_OF, OPERATIONS, Request
from scripts.capacity.simulation.autoscaler import Scaling
from scripts.capacity.simulation.deployment import Deployment, Fault, Lags, PoolPlan
from scripts.capacity.simulation.service import Happened, simulate
from scripts.capacity.sizing import POOL_OF, Choices, Sizes
from scripts.capacity.traffic import DAY, Arrival, Traffic, arrivals

_NOON = DAY / 2
_VOICE = MODEL_OF["speech"]
ZONES = ("a", "b", "c")


def served(fits: Fits) -> Fits:
    """With all voices, each as the one that was measured."""
    voices = {voice.triton_model: fits.models[_VOICE] for voice in VOICES.values()}
    return dataclasses.replace(fits, models={**fits.models, **voices})


def _models_of(fits: Fits, pool: str) -> list[str]:
    """What the chart's pool has; one Whisper of the two, since calls that name none go there."""
    models = {MODEL_OF[name] for name in OPERATIONS if POOL_OF[name] == pool}
    return [name for name in fits.models if name in models or (_VOICE in models and name.startswith("piper_"))]


def deployment_of(fits: Fits, sizes: Sizes, choices: Choices) -> Deployment:
    """A plan as it would run, in three zones, without an autoscaler. Ends where some of it is on GPUs."""
    if sizes.gpus:
        raise SystemExit("nothing is known of batches on a GPU: simulate without rates for one")
    pools = [
        PoolPlan(need.name, _models_of(fits, need.name), need.tritons, choices.cores, least=1, most=need.tritons)
        for need in sizes.pools
    ]
    return Deployment(pools, sizes.frontends, choices.frontend_cores, ZONES)


def _calls(fits: Fits, traffic: Traffic, start: float, seconds: float, seed: int) -> Iterator[Arrival]:
    return arrivals(traffic, start, seconds, seed, fits.models[MODEL_OF["transcriptions"]].window_seconds)


def peak(
    fits: Fits, sizes: Sizes, choices: Choices, seconds: float, seed: int, faults: Sequence[Fault] = ()
) -> Happened:
    """A plan at its busiest moment."""
    its = fitted_to(served(fits), choices.cores)
    deployment = dataclasses.replace(deployment_of(its, sizes, choices), faults=faults)
    return simulate(its, deployment, _calls(its, sizes.traffic, _NOON - seconds / 2, seconds, seed), seed)


def day(
    fits: Fits, sizes: Sizes, choices: Choices, scaling: Scaling, hours: tuple[float, float], seed: int
) -> Happened:
    """A plan's pools, from a third of their size to all of it, scaled over some hours."""
    its = fitted_to(served(fits), choices.cores)
    planned = deployment_of(its, sizes, choices)
    pools = [
        dataclasses.replace(pool, least=-(-pool.replicas // 3), replicas=-(-pool.replicas // 3), most=2 * pool.replicas)
        for pool in planned.pools
    ]
    deployment = dataclasses.replace(planned, pools=pools, scaling=scaling)
    start, end = (hour * DAY / 24 for hour in hours)
    return simulate(its, deployment, _calls(its, sizes.traffic, start, end - start, seed), seed)


@dataclass(frozen=True)
class Step:
    """Which signal and start lag, and what callers saw of a load that grows sixfold at once."""

    signal: str
    lag: float
    happened: Happened
    seconds: float
    settled: float


POOL = "step"
# One pool of 2 to 20 Tritons: each has 16 calls, in two batches of 1.6 s, and does 5 a second.
_STEP = ModelFit("phonemes", Line(1.6), 1.0, max_batch=8, delay=0.0, instances=1)
_STEP_RATES, _STEP_LEAST, _STEP_MOST = (5.0, 30.0), 2, 20
_NOTHING = RequestFit(Line(), Line(), Line(), Line(), 0.0)


def step(signal: str, lag: float, seconds: float, settle: float = 300.0, seed: int = 1) -> Step:
    """5 calls a second, from ``settle`` seconds on 30."""
    rng, at, calls = random.Random(seed), 0.0, []
    while at < seconds:
        at += rng.expovariate(_STEP_RATES[at >= settle])
        calls.append(Arrival(at, Request("speech", 1.0, (100.0,)), rng.randrange(100), rng.choice((1, 2, 3))))
    fits = Fits({}, 1, 0.0, {_VOICE: _STEP}, dict.fromkeys(OPERATIONS, _NOTHING))
    pool = PoolPlan(POOL, [_VOICE], _STEP_LEAST, 1.0, least=_STEP_LEAST, most=_STEP_MOST)
    settings = Settings(queue_per_key=100_000, queue_per_tier=1_000_000, request_seconds=3600.0)
    deployment = Deployment(
        [pool], 1, 64.0, ("a",), settings, Scaling(signal=signal), Lags(node=0.0, image=0.0, load=lag)
    )
    return Step(signal, lag, simulate(fits, deployment, calls, seed), seconds, settle)
