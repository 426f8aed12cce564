"""What a larger batch of Whisper brings and costs on a simulated GPU: python -m lab.probes.admission

The dispatcher is the product's, on an event loop whose time jumps to the next timer. Triton is simulated with one
instance. Execution times are assumptions: Whisper turbo on a GPU like an L4.
"""

import asyncio
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean

from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.peers.frontends import FixedFrontends
from frontend.tritons.inference import Capacity
from lab.capacity.clock import run
from lab.capacity.machine import Machine
from lab.capacity.triton import BEGAN, Connection, SimulatedTriton, inputs_of
from scripts.benchmark.common.output import head, line
from scripts.capacity.fits import Line, ModelFit

_COMPANY, _FREE = 1, 3
_MODEL = "model"
_BATCH_SIZES = (4, 8, 16, 32)
# Seconds per batch for about a hundred decoder steps, and seconds per window for its features and the encoder.
_EXECUTION = Line(0.22, 0.065)
_WINDOW_SECONDS = 30.0
_QUEUE_DELAY_SECONDS = 0.02
_FREE_CALLERS, _COMPANY_CALLS = 64, 40
_WARM_UP_SECONDS = 10.0
_MEASURED_EXECUTIONS = 30
_HEAD = ("`max_batch_size`", "audio seconds per second", "an execution", "a company's window waits (mean, longest)")


class _Gpu(Connection):
    """A connection without delays to a simulated Triton on a GPU."""

    def __init__(self, max_batch: int) -> None:
        fit = ModelFit("", _EXECUTION, 1.0, max_batch, _QUEUE_DELAY_SECONDS, 1)
        self.triton = SimulatedTriton({_MODEL: fit}, Machine(1.0))
        super().__init__(self.triton, lambda seconds: asyncio.sleep(0))

    async def capacity(self, model: str) -> Capacity:
        fit = self.triton.fits[model]
        return Capacity(fit.instances, fit.max_batch, gpu=True)


@dataclass(frozen=True)
class Result:
    """Audio seconds per second, the mean seconds of an execution, and the seconds that each company call waited."""

    throughput: float
    execution: float
    waits: Sequence[float]


async def measure(max_batch: int) -> Result:
    """Load the GPU by callers of the tier free, then send calls of a company from time to time."""
    gpu, dispatcher = _Gpu(max_batch), Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    dispatcher.register_model(_MODEL, Work(_WINDOW_SECONDS))
    await dispatcher.add("pool/triton", gpu, {_MODEL: 0})
    loop = asyncio.get_running_loop()
    inputs = functools.partial(inputs_of, _WINDOW_SECONDS, 0.0)

    async def call(key: str, priority: int) -> float:
        """Return when the call's execution began."""
        context = RequestContext(key, priority, None, loop.time() + 1e6)
        return float((await dispatcher.infer(_MODEL, inputs, [], context, _WINDOW_SECONDS))[BEGAN])

    async def caller(key: str) -> None:
        while True:
            await call(key, _FREE)

    callers = [asyncio.create_task(caller(f"free {number}")) for number in range(_FREE_CALLERS)]
    await asyncio.sleep(_WARM_UP_SECONDS)
    executions = gpu.triton.executions[_MODEL]
    before = len(executions)
    await asyncio.sleep(_MEASURED_EXECUTIONS * _EXECUTION.seconds(_WINDOW_SECONDS * max_batch, max_batch))
    measured = executions[before:]
    took = measured[-1].began - measured[0].began
    execution = took / (len(measured) - 1)
    waits = []
    random = Random(1)
    for _ in range(_COMPANY_CALLS):
        await asyncio.sleep(random.uniform(3, 5) * execution)
        asked = loop.time()
        waits.append(await call("company", _COMPANY) - asked)
    for task in callers:
        task.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    await dispatcher.close()
    windows = sum(each.calls for each in measured[:-1])
    return Result(windows * _WINDOW_SECONDS / took, execution, waits)


def main() -> None:
    print(head(_HEAD))
    for max_batch in _BATCH_SIZES:
        result = run(measure(max_batch))
        waits = f"{mean(result.waits):.1f} s, {max(result.waits):.1f} s"
        print(line((max_batch, f"{result.throughput:,.0f}", f"{result.execution:.1f} s", waits)), flush=True)


if __name__ == "__main__":
    main()
