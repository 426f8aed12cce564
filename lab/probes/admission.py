"""Does the admission keep a device busy, and does a company's call wait? python -m lab.probes.admission

The dispatcher is the product's own, on an event loop whose time jumps. The Triton is not: it joins what waits by its
configuration, and an execution takes what the case says. Service times are assumptions; what is checked are ratios to
full batches. Ends with 1 where a check fails.
"""

import asyncio
import functools
import sys
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
_WARM_SECONDS, _LEAST_SECONDS, _EXECUTIONS = 10.0, 10.0, 30
_FULL, _WAIT = 0.9, 1.5
_COMPANY_CALLS = 40
_HEAD = ("case", "work/s", "of full batches", "calls a batch", "waits in Triton s", "company waits: mean, most", "")


@dataclass(frozen=True)
class Case:
    """``callers`` with calls of ``cost`` each to a device with one instance, on which an execution takes ``line``.

    ``waits`` is how long calls may wait in Triton in the mean: what they did before executions were measured.
    """

    name: str
    line: Line
    cost: float
    callers: int
    work: Work
    max_batch: int
    delay: float
    gpu: bool = True
    waits: float = float("inf")

    @property
    def full_seconds(self) -> float:
        """What a full batch takes."""
        return self.line.seconds(self.cost * self.max_batch, self.max_batch)

    @property
    def full_throughput(self) -> float:
        """Work a second in full batches."""
        return self.cost * self.max_batch / self.full_seconds


class Device(Connection):
    """A connection that takes no time to a Triton on a device of its own."""

    def __init__(self, case: Case) -> None:
        fit = ModelFit("", case.line, 1.0, case.max_batch, case.delay, 1)
        self.triton, self._gpu = SimulatedTriton({_MODEL: fit}, Machine(1.0)), case.gpu
        super().__init__(self.triton, lambda seconds: asyncio.sleep(0))

    async def capacity(self, model: str) -> Capacity:
        fit = self.triton.fits[model]
        return Capacity(fit.instances, fit.max_batch, gpu=self._gpu)


@dataclass(frozen=True)
class Found:
    """What a case came to; ``company`` are the waits of a company's calls, in executions."""

    throughput: float
    calls_a_batch: float
    waits: float
    company: Sequence[float]


async def measure(case: Case) -> Found:
    """The device under load from the beginning; measured once it has gone on for ten seconds."""
    device, dispatcher = Device(case), Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    dispatcher.register_model(_MODEL, case.work)
    await dispatcher.add("pool/triton", device, {_MODEL: 0})
    loop = asyncio.get_running_loop()
    inputs = functools.partial(inputs_of, case.cost, 0.0)

    async def call(key: str, priority: int) -> float:
        """When its execution began."""
        context = RequestContext(key, priority, None, loop.time() + 1e6)
        return float((await dispatcher.infer(_MODEL, inputs, [], context, case.cost))[BEGAN])

    async def caller(key: str) -> None:
        while True:
            await call(key, _FREE)

    callers = [asyncio.create_task(caller(f"free {number}")) for number in range(case.callers)]
    await asyncio.sleep(_WARM_SECONDS)
    executions = device.triton.executions[_MODEL]
    before = len(executions)
    await asyncio.sleep(max(_LEAST_SECONDS, _EXECUTIONS * case.full_seconds))
    measured = executions[before:]
    took = measured[-1].began - measured[0].began
    execution = took / (len(measured) - 1)
    waits = []
    random = Random(1)
    for _ in range(_COMPANY_CALLS):
        await asyncio.sleep(random.uniform(3, 5) * execution)
        asked = loop.time()
        waits.append((await call("company", _COMPANY) - asked) / execution)
    for task in callers:
        task.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    await dispatcher.close()
    done = sum(its.calls for its in measured[:-1]) * case.cost
    in_triton = sum(its.waits for its in measured) / sum(its.calls for its in measured)
    return Found(done / took, mean(its.calls for its in measured), in_triton, waits)


def _windows(name: str, fixed: float, a_call: float) -> Case:
    return Case(name, Line(fixed, a_call), 30.0, 64, Work(30.0), 16, 0.02)


def _texts(name: str, fixed: float, a_token: float, tokens: int, *, gpu: bool = True) -> Case:
    its = Work(768, 16384, divisible=True)
    return Case(f"{name}, texts of {tokens} tokens", Line(fixed, 0.0, a_token), float(tokens), 256, its, 32, 0.002, gpu)


# Windows: features and the encoder for each, and about a hundred steps of the decoder for all.
CASES = (
    _windows("turbo, H100-like", 0.18, 0.026),
    _windows("turbo, L4-like", 0.22, 0.065),
    _windows("large-v3 with beams, H100-like", 1.32, 0.041),
    _windows("large-v3 with beams, L4-like", 1.52, 0.125),
    *(_texts("H100-like", 0.004, 1.5e-6, tokens) for tokens in (20, 100, 200, 500)),
    *(_texts("L4-like", 0.004, 12e-6, tokens) for tokens in (20, 100, 200, 500)),
    Case("processor, a window in 3 s", Line(0.0, 3.0), 30.0, 64, Work(30.0), 8, 0.005, False, 0.0),
    _texts("processor, 2,000 tokens a second", 0.0, 1 / 2000, 200, gpu=False),
)


def failures(case: Case, found: Found) -> list[str]:
    """Which of the bars a case misses."""
    bars = {
        "throughput": found.throughput >= _FULL * case.full_throughput,
        "company": mean(found.company) <= _WAIT,
        "waits in Triton": found.waits <= case.waits + case.delay,
    }
    return [bar for bar, holds in bars.items() if not holds]


def main() -> None:
    print(head(_HEAD))
    failed = 0
    for case in CASES:
        found = run(measure(case))
        misses = failures(case, found)
        failed += bool(misses)
        company = f"{mean(found.company):.2f}, {max(found.company):.2f}"
        share = f"{found.throughput / case.full_throughput:.0%}"
        numbers = (f"{found.throughput:,.0f}", share, f"{found.calls_a_batch:.1f}", f"{found.waits:.3f}")
        print(line((case.name, *numbers, company, ", ".join(misses))), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
