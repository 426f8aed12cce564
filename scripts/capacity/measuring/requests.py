"""What requests take besides their models: sent one after another, with the processors' time of each process read."""

from collections.abc import Sequence

from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.load import Client, Load
from scripts.capacity.fits import Fits, Line, RequestFit, fit
from scripts.capacity.measuring.processes import Processes, Spent
from scripts.capacity.requests import Request
from scripts.capacity.simulation.bench import simulate

_WARM_UP = 4
# Of which the middle one counts.
_TIMES = 3


class Sequential:
    """Requests of one operation, one at a time; ``idle`` is what the event loop takes of a processor without any."""

    def __init__(self, client: Client, processes: Processes, idle: float) -> None:
        self._client, self._processes, self._idle = client, processes, idle

    async def fitted(self, calls: Sequence[Call], requests: Sequence[Request]) -> RequestFit:
        """What lines say of them; ``wire`` is all of their time for now (``with_wire`` takes the work out of it)."""
        for call in calls[:_WARM_UP]:
            await self._client.send(call, 0.0)
        found: list[tuple[Request, Spent]] = []
        for call, request in zip(calls, requests, strict=True):
            runs = sorted([await self._once(call) for _ in range(_TIMES)], key=lambda its: its.seconds)
            found.append((request, runs[_TIMES // 2]))
        lines = {kind: self._line(kind, found) for kind in ("loop", "threads", "workers", "client")}
        return RequestFit(**lines, wire=sum(spent.seconds for _, spent in found) / len(found))

    async def _once(self, call: Call) -> Spent:
        self._processes.spent()
        await self._client.send(call, 0.0)
        return self._processes.spent()

    def _own(self, kind: str, spent: Spent) -> float:
        seconds: float = getattr(spent, kind)
        return max(0.0, seconds - self._idle * spent.seconds) if kind == "loop" else seconds

    def _line(self, kind: str, found: Sequence[tuple[Request, Spent]]) -> Line:
        points = ((self._own(kind, spent), (1.0, request.count, request.units)) for request, spent in found)
        return Line(*fit(points, relative=False))


def with_wire(fits: Fits, operation: str, requests: Sequence[Request]) -> RequestFit:
    """A request's fit with the wire's time alone: what a real request takes longer, on average, than a simulated one
    over no wire, when both are alone.
    """
    its = fits.requests[operation]
    bare = RequestFit(its.loop, its.threads, its.workers, its.client, 0.0)
    without = Fits(fits.machine, fits.cores, fits.idle, fits.models, {**fits.requests, operation: bare})
    ((samples, _),) = simulate(without, [Load("each", requests)])
    alone = sum(sample.seconds for sample in samples) / len(samples)
    return RequestFit(its.loop, its.threads, its.workers, its.client, max(0.0, its.wire - alone))
