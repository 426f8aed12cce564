"""What work takes when several requests are under way: caches are shared, threads wait for each other, some turn in
circles meanwhile, and on many machines two processors are two halves of one.

So the lines that were found alone are stretched by what the same work took of the processors under a load (the service
demand law, Denning and Buzen, 1978): it is another load than those that the simulation is then compared with.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.load import Client, each_once
from scripts.benchmark.product.triton_counts import TritonCounts, between
from scripts.capacity.fits import Line, ModelFit, RequestFit
from scripts.capacity.measuring.processes import Processes, Spent
from scripts.capacity.measuring.traces import Traced

CALLERS = 4
# What also works where nothing is sent.
_BUSY_IDLE = ("loop", "threads")


@dataclass(frozen=True)
class Demand:
    """What some requests took of the processors in all, and in how many executions of how many calls."""

    spent: Spent
    executions: float
    calls: float


async def demand(client: Client, processes: Processes, triton: str, model: str, calls: Sequence[Call]) -> Demand:
    """Of calls that a few callers send, each the next one when its last is answered."""
    counts = TritonCounts(triton)
    await each_once(client, calls[:CALLERS], CALLERS)
    before = await counts.read()
    processes.spent()
    await each_once(client, calls, CALLERS)
    spent = processes.spent()
    its = between(before, await counts.read())[model]
    return Demand(spent, its["executions"], its["requests"])


def stretched_model(fit: ModelFit, traced: Sequence[Traced], found: Demand, idle: Spent) -> ModelFit:
    """A model as it is under load; ``idle`` is what was spent while nothing was sent."""
    work = sum(cost for its in traced for _, cost in its.calls)
    alone = fit.line.fixed * found.executions + fit.line.per_call * found.calls + fit.line.per_unit * work
    taken = found.spent.triton - idle.triton / idle.seconds * found.spent.seconds
    return dataclasses.replace(fit, line=_times(fit.line, taken / (alone * fit.cores)))


def stretched_request(fit: RequestFit, traced: Sequence[Traced], found: Demand, idle: Spent) -> RequestFit:
    """The rest of a request's work as it is under load."""

    def stretched(kind: str) -> Line:
        line: Line = getattr(fit, kind)
        alone = sum(line.seconds(its.request.units, its.request.count) for its in traced)
        taken: float = getattr(found.spent, kind)
        if kind in _BUSY_IDLE:
            taken -= getattr(idle, kind) / idle.seconds * found.spent.seconds
        return _times(line, max(0.0, taken) / alone) if alone else line

    return RequestFit(stretched("loop"), stretched("threads"), stretched("workers"), stretched("client"), fit.wire)


def _times(line: Line, factor: float) -> Line:
    return Line(line.fixed * factor, line.per_call * factor, line.per_unit * factor)
