"""The formula: how many Tritons, frontends and cores a traffic needs, and what that costs, in milliseconds.

By the utilisation law (Denning and Buzen, "The operational analysis of queueing network models", 1978): what is busy
on average is arrivals a second times the seconds that each takes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scripts.capacity.fits import Fits, ModelFit
from scripts.capacity.traffic import IDS_PER_CHARACTER, MODEL_OF, PRICED_BY, SENTENCE_CHARACTERS, Traffic

_HOUR = 3600.0
# Frontends are two at least, so that one can go.
_LEAST_FRONTENDS = 2
# Tokens: the least that texts are cut into, where batches are full.
_PIECE = 512
POOL_OF = {"embeddings": "text", "rerank": "text", "speech": "voices", "transcriptions": "whisper"}


@dataclass(frozen=True)
class Prices:
    """What an hour costs of a core, with its memory, and of a GPU, in ``currency``: yours, not ours."""

    core: float = 0.04
    gpu: float = 3.0
    currency: str = "CHF"


@dataclass(frozen=True)
class Choices:
    """``busy`` of a Triton's time may be used at the peak; that also holds when one of so many ``zones`` is lost, where
    there are more than one. A Triton has ``cores``. ``gpu`` is units a second that one GPU does of an operation, which
    nobody has measured: operations that are not named run on cores.
    """

    busy: float = 0.7
    zones: int = 1
    cores: int = 2
    frontend_cores: int = 2
    gpu: Mapping[str, float] = field(default_factory=dict)
    prices: Prices = Prices()


@dataclass(frozen=True)
class Need:
    """An operation at the peak: calls and units a second, units a second of one Triton or GPU, and how many it keeps
    busy. ``price`` is what the machine costs for as many units as these are priced by.
    """

    operation: str
    calls: float
    units: float
    rate: float
    busy: float
    on_gpu: bool
    price: float


@dataclass(frozen=True)
class PoolNeed:
    """Tritons of a pool, on cores or with a GPU each."""

    name: str
    tritons: int
    gpus: int
    cores: int


@dataclass(frozen=True)
class Sizes:
    """All that a traffic needs at its peak, and what it costs an hour when it runs all the time."""

    traffic: Traffic
    needs: Sequence[Need]
    pools: Sequence[PoolNeed]
    frontends: int
    cores: int
    gpus: int
    cost: float


def rate_of(fits: Fits, operation: str, size: float) -> float:
    """Units a second that one Triton of the fits' machine does of an operation, when its batches are full."""
    model = fits.models[MODEL_OF[operation]]
    work, calls = _calls_of(model, operation, size)
    a_call = work / calls
    batch = model.line.seconds(a_call * model.max_batch, model.max_batch) / model.max_batch
    # Instances share the cores, where those do not suffice for all of them.
    side_by_side = min(model.instances, fits.cores / model.cores)
    return size / (calls * batch) * side_by_side


def _calls_of(model: ModelFit, operation: str, size: float) -> tuple[float, float]:
    """The work of one request in the model's unit, and in how many calls."""
    if operation == "speech":
        return size * IDS_PER_CHARACTER, max(1.0, size / SENTENCE_CHARACTERS)
    if operation == "transcriptions":
        windows = max(1.0, size / model.window_seconds)
        return windows * model.window_seconds, windows
    return size, max(1.0, size / _PIECE)


def frontend_seconds(fits: Fits, operation: str, size: float) -> float:
    """Seconds of a core that a request of an operation takes of a frontend."""
    its, model = fits.requests[operation], fits.models[MODEL_OF[operation]]
    _, calls = _calls_of(model, operation, size)
    return sum(line.seconds(size, calls) for line in (its.loop, its.threads, its.workers))


def size(fits: Fits, traffic: Traffic, choices: Choices = Choices()) -> Sizes:
    """How many of what are needed at the peak of a day."""
    fits = fits.fitted_to(choices.cores)
    needs = [_need(fits, traffic, choices, name) for name in traffic.shares]
    pools = [_pool(name, needs, choices) for name in dict.fromkeys(POOL_OF.values())]
    used = sum(
        need.calls * frontend_seconds(fits, need.operation, traffic.shares[need.operation].size) for need in needs
    )
    frontends = max(_LEAST_FRONTENDS, _spread(used / choices.busy / choices.frontend_cores, choices.zones))
    cores = sum(pool.cores for pool in pools) + frontends * choices.frontend_cores
    gpus = sum(pool.gpus for pool in pools)
    cost = cores * choices.prices.core + gpus * choices.prices.gpu
    return Sizes(traffic, needs, pools, frontends, cores, gpus, cost)


def _need(fits: Fits, traffic: Traffic, choices: Choices, operation: str) -> Need:
    share = traffic.shares[operation]
    calls = traffic.peak_rate * share.part
    gpu = choices.gpu.get(operation)
    rate = gpu or rate_of(fits, operation, share.size)
    hour = choices.prices.gpu if gpu else choices.cores * choices.prices.core
    price = hour / (rate * choices.busy * _HOUR) * PRICED_BY[operation][0]
    return Need(operation, calls, calls * share.size, rate, calls * share.size / rate, gpu is not None, price)


def _pool(name: str, needs: Sequence[Need], choices: Choices) -> PoolNeed:
    its = [need for need in needs if POOL_OF[need.operation] == name]
    # One pool has one kind of Triton: with a GPU where an operation of it has a rate for one.
    on_gpu = any(need.on_gpu for need in its)
    tritons = max(min(2, choices.zones), _spread(sum(need.busy for need in its) / choices.busy, choices.zones))
    return PoolNeed(name, tritons, tritons if on_gpu else 0, 0 if on_gpu else tritons * choices.cores)


def _spread(needed: float, zones: int) -> int:
    """So many that what is left of them suffices when a zone is lost; a pool has one in another zone then."""
    if zones > 1:
        needed *= zones / (zones - 1)
    return math.ceil(needed - 1e-9)


def a_month(cost: float) -> float:
    """Of 730 hours."""
    return cost * 730
