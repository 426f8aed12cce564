"""The formula: how many Tritons, frontends and cores a traffic needs, and their cost.

It is the utilisation law (Denning and Buzen, "The operational analysis of queueing network models", 1978): the mean
number of busy servers is arrivals per second times seconds per arrival.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scripts.capacity.fits import Fits, ModelFit
from scripts.capacity.traffic import IDS_PER_CHARACTER, MODEL_OF, PRICED_BY, SENTENCE_CHARACTERS, Traffic

_HOUR = 3600.0
# One frontend may fail.
_LEAST_FRONTENDS = 2
# Tokens of the smallest call that texts are split into under load.
_CALL_TOKENS = 512
POOL_OF = {"embeddings": "text", "rerank": "text", "speech": "voices", "transcriptions": "whisper"}


@dataclass(frozen=True)
class Prices:
    """Prices per hour of a core with its memory, and of a GPU, in ``currency``. The defaults are examples."""

    core: float = 0.04
    gpu: float = 3.0
    currency: str = "CHF"


@dataclass(frozen=True)
class Choices:
    """At the peak, a Triton is busy for the share ``busy`` of the time or less, also without one of ``zones``.

    A Triton has ``cores``. ``gpu`` has the units per second of one GPU by operation; other operations run on cores.
    """

    busy: float = 0.7
    zones: int = 1
    cores: int = 2
    frontend_cores: int = 2
    gpu: Mapping[str, float] = field(default_factory=dict)
    prices: Prices = Prices()


@dataclass(frozen=True)
class Need:
    """An operation at the peak: calls and units per second, ``rate`` of one Triton or GPU, and how many are busy.

    ``price`` is the machine's cost of the units in ``PRICED_BY``.
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
    """The Tritons of a pool, on cores or with one GPU each."""

    name: str
    tritons: int
    gpus: int
    cores: int


@dataclass(frozen=True)
class Sizes:
    """The machines for a traffic's peak, and their cost per hour."""

    traffic: Traffic
    needs: Sequence[Need]
    pools: Sequence[PoolNeed]
    frontends: int
    cores: int
    gpus: int
    cost: float


def rate_of(fits: Fits, operation: str, size: float) -> float:
    """Units per second of an operation on one Triton of the fits' machine with full batches."""
    model = fits.models[MODEL_OF[operation]]
    work, calls = _calls_of(model, operation, size)
    a_call = work / calls
    batch = model.line.seconds(a_call * model.max_batch, model.max_batch) / model.max_batch
    # Instances share the cores if these are too few for all.
    side_by_side = min(model.instances, fits.cores / model.cores)
    return size / (calls * batch) * side_by_side


def _calls_of(model: ModelFit, operation: str, size: float) -> tuple[float, float]:
    """The work of one request in the model's unit, and its number of calls."""
    if operation == "speech":
        return size * IDS_PER_CHARACTER, max(1.0, size / SENTENCE_CHARACTERS)
    if operation == "transcriptions":
        windows = max(1.0, size / model.window_seconds)
        return windows * model.window_seconds, windows
    return size, max(1.0, size / _CALL_TOKENS)


def frontend_seconds(fits: Fits, operation: str, size: float) -> float:
    """Core seconds of a frontend for a request of an operation."""
    request, model = fits.requests[operation], fits.models[MODEL_OF[operation]]
    _, calls = _calls_of(model, operation, size)
    return sum(line.seconds(size, calls) for line in (request.loop, request.threads, request.workers))


def size(fits: Fits, traffic: Traffic, choices: Choices = Choices()) -> Sizes:
    """The machines for the peak of a day."""
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
    members = [need for need in needs if POOL_OF[need.operation] == name]
    # All Tritons of a pool have a GPU if one of its operations has a rate for GPUs.
    on_gpu = any(need.on_gpu for need in members)
    tritons = max(min(2, choices.zones), _spread(sum(need.busy for need in members) / choices.busy, choices.zones))
    return PoolNeed(name, tritons, tritons if on_gpu else 0, 0 if on_gpu else tritons * choices.cores)


def _spread(needed: float, zones: int) -> int:
    """The number of machines, which is enough without one zone."""
    if zones > 1:
        needed *= zones / (zones - 1)
    return math.ceil(needed - 1e-9)


def a_month(cost: float) -> float:
    """The cost of 730 hours."""
    return cost * 730
