"""What work takes when several requests are under way: caches are shared, threads wait for each other, some turn in
circles meanwhile, and on many machines two processors are two halves of one.

So the lines that were found alone are stretched by what the same work took of the processors under a load (the service
demand law, Denning and Buzen, 1978): it is another load than those that the simulation is then compared with.
"""

import dataclasses
from collections.abc import Sequence

from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.load import Client, Load, each_once
from scripts.capacity.fits import Fits, Line, RequestFit
from scripts.capacity.measuring.processes import Processes, Spent
from scripts.capacity.requests import MODEL_OF, Request
from scripts.capacity.simulation.bench import simulate

CALLERS = 4
# Of which the one counts that others on the machine disturbed least.
_TIMES = 2
# Work that is slower is joined more, so that a stretch changes what it was made from: it settles in a few rounds.
_ROUNDS = 4
# What also works where nothing is sent.
_BUSY_IDLE = ("loop", "threads")


async def demand(client: Client, processes: Processes, calls: Sequence[Call]) -> Spent:
    """What calls of a few callers took of the processors; each sends the next one when its last is answered."""
    await each_once(client, calls[:CALLERS], CALLERS)
    found = []
    for _ in range(_TIMES):
        processes.spent()
        await each_once(client, calls, CALLERS)
        found.append(processes.spent())
    return min(found, key=lambda spent: spent.others / spent.seconds)


def stretched(fits: Fits, operation: str, requests: Sequence[Request], found: Spent, idle: Spent) -> Fits:
    """With an operation's request and model as they are under load; ``idle`` was spent while nothing was sent."""
    request = _request(fits.requests[operation], requests, found, idle)
    its = dataclasses.replace(fits, requests={**fits.requests, operation: request})
    load, name = Load("each", requests, CALLERS), MODEL_OF[operation]
    taken = found.triton - idle.triton / idle.seconds * found.seconds
    for _ in range(_ROUNDS):
        ((_, seconds),) = simulate(its, [load])
        line = its.models[name].line.times(taken / seconds)
        its = dataclasses.replace(its, models={**its.models, name: dataclasses.replace(its.models[name], line=line)})
    return its


def _request(fit: RequestFit, requests: Sequence[Request], found: Spent, idle: Spent) -> RequestFit:
    def line(kind: str) -> Line:
        alone: Line = getattr(fit, kind)
        expected = sum(alone.seconds(request.units, request.count) for request in requests)
        taken: float = getattr(found, kind)
        if kind in _BUSY_IDLE:
            taken -= getattr(idle, kind) / idle.seconds * found.seconds
        return alone.times(max(0.0, taken) / expected) if expected else alone

    return RequestFit(line("loop"), line("threads"), line("workers"), line("client"), fit.wire)
