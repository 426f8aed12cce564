"""Does the admission keep a device busy, and does a company's call wait? python -m scripts.benchmark.probes.admission

The dispatcher is the product's own, on an event loop whose time jumps. The Triton is not: it joins what waits by its
configuration, and an execution takes what the case says. Service times are assumptions; what is checked are ratios to
full batches. Ends with 1 where a check fails.
"""

import asyncio
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean

import numpy as np

from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.peers.frontends import FixedFrontends
from frontend.tritons.inference import Capacity, Inputs, Outputs, Trial
from scripts.benchmark.common.output import head, line
from scripts.capacity.simulation.clock import run

_COMPANY, _FREE = 1, 3
_MODEL = "model"
_WARM_SECONDS, _LEAST_SECONDS, _EXECUTIONS = 10.0, 10.0, 30
_FULL, _WAIT = 0.9, 1.5
_COMPANY_CALLS = 40
_HEAD = ("case", "work/s", "of full batches", "calls a batch", "waits in Triton s", "company waits: mean, most", "")


@dataclass(frozen=True)
class Case:
    """``callers`` with calls of ``cost`` each; an execution of so many calls takes ``seconds`` of a device.

    ``waits`` is how long calls may wait in Triton in the mean: what they did before executions were measured.
    """

    name: str
    seconds: Callable[[int], float]
    cost: float
    callers: int
    work: Work
    capacity: Capacity
    delay: float
    waits: float = float("inf")


@dataclass
class _Sent:
    arrived: float
    begun: "asyncio.Future[float]"
    ended: "asyncio.Future[Outputs]"


class BatchingServer:
    """One instance: joins what waits, once the first has waited for ``delay`` or a batch is full."""

    def __init__(self, case: Case) -> None:
        self._case, self._loop = case, asyncio.get_running_loop()
        self._waiting: list[_Sent] = []
        self._busy = False
        # When each execution began, how many calls it had, and how long each of them had waited.
        self.executions: list[tuple[float, int, float]] = []
        self.begun: dict[int, asyncio.Future[float]] = {}

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        sent = _Sent(self._loop.time(), self._loop.create_future(), self._loop.create_future())
        self.begun[int(inputs["number"])] = sent.begun
        self._waiting.append(sent)
        self._start()
        return await sent.ended

    def _start(self) -> None:
        if self._busy or not self._waiting:
            return
        now, most = self._loop.time(), self._case.capacity.max_batch
        due = self._waiting[0].arrived + self._case.delay
        if len(self._waiting) < most and now < due - 1e-9:
            self._loop.call_at(due, self._start)
            return
        batch, self._waiting = self._waiting[:most], self._waiting[most:]
        self._busy = True
        self.executions.append((now, len(batch), mean(now - sent.arrived for sent in batch)))
        for sent in batch:
            sent.begun.set_result(now)
        self._loop.call_later(self._case.seconds(len(batch)), self._end, batch)

    def _end(self, batch: list[_Sent]) -> None:
        self._busy = False
        for sent in batch:
            if not sent.ended.done():
                sent.ended.set_result({})
        # What waits begins before anything new can come.
        self._start()

    async def capacity(self, model: str) -> Capacity:
        return self._case.capacity

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        return set(models)

    async def try_out(self, model: str, trial: Trial) -> None:
        return

    async def ailing(self, models: Sequence[str]) -> set[str]:
        return set()

    async def reload(self, model: str) -> None:
        return

    async def close(self) -> None:
        return


@dataclass(frozen=True)
class Found:
    """What a case came to; ``company`` are the waits of a company's calls, in executions."""

    throughput: float
    calls_a_batch: float
    waits: float
    company: Sequence[float]


async def measure(case: Case) -> Found:
    """The device under load from the beginning; measured once it has gone on for ten seconds."""
    server, dispatcher = BatchingServer(case), Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    dispatcher.declare(_MODEL, case.work)
    await dispatcher.add("pool/triton", server, {_MODEL: 0})
    numbers = iter(range(1 << 62))
    loop = asyncio.get_running_loop()

    async def call(key: str, priority: int, number: int) -> None:
        context = RequestContext(key, priority, None, loop.time() + 1e6)
        await dispatcher.infer(_MODEL, functools.partial(dict, number=np.array(number)), [], context, case.cost)

    async def caller(key: str) -> None:
        while True:
            await call(key, _FREE, next(numbers))

    callers = [asyncio.create_task(caller(f"free {number}")) for number in range(case.callers)]
    await asyncio.sleep(_WARM_SECONDS)
    full = case.seconds(case.capacity.max_batch)
    began, before = loop.time(), len(server.executions)
    await asyncio.sleep(max(_LEAST_SECONDS, _EXECUTIONS * full))
    measured = server.executions[before:]
    took = measured[-1][0] - measured[0][0]
    execution = took / (len(measured) - 1)
    waits = []
    random = Random(1)
    for _ in range(_COMPANY_CALLS):
        await asyncio.sleep(random.uniform(3, 5) * execution)
        began, number = loop.time(), next(numbers)
        task = asyncio.create_task(call("company", _COMPANY, number))
        await task
        waits.append((server.begun[number].result() - began) / execution)
    for task in callers:
        task.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    await dispatcher.close()
    done = sum(calls for _, calls, _ in measured[:-1]) * case.cost
    in_triton = sum(calls * wait for _, calls, wait in measured) / sum(calls for _, calls, _ in measured)
    return Found(done / took, mean(calls for _, calls, _ in measured), in_triton, waits)


def _windows(name: str, seconds: Callable[[int], float]) -> Case:
    return Case(name, seconds, 30.0, 64, Work(30.0), Capacity(1, 16, gpu=True), 0.02)


def _texts(name: str, fixed: float, a_token: float, tokens: int) -> Case:
    return Case(
        f"{name}, texts of {tokens} tokens",
        lambda calls: fixed + a_token * calls * tokens,
        float(tokens),
        256,
        Work(768, 16384, divisible=True),
        Capacity(1, 32, gpu=True),
        0.002,
    )


# Windows: features and the encoder for each, and about a hundred steps of the decoder for all.
CASES = (
    _windows("turbo, H100-like", lambda calls: 0.18 + 0.026 * calls),
    _windows("turbo, L4-like", lambda calls: 0.22 + 0.065 * calls),
    _windows("large-v3 with beams, H100-like", lambda calls: 1.32 + 0.041 * calls),
    _windows("large-v3 with beams, L4-like", lambda calls: 1.52 + 0.125 * calls),
    *(_texts("H100-like", 0.004, 1.5e-6, tokens) for tokens in (20, 100, 200, 500)),
    *(_texts("L4-like", 0.004, 12e-6, tokens) for tokens in (20, 100, 200, 500)),
    Case("processor, a window in 3 s", lambda calls: 3.0 * calls, 30.0, 64, Work(30.0), Capacity(1, 8), 0.005, 0.0),
    Case(
        "processor, 2,000 tokens a second",
        lambda calls: calls * 200 / 2000,
        200.0,
        256,
        Work(768, 16384, divisible=True),
        Capacity(1, 32),
        0.002,
    ),
)


def failures(case: Case, found: Found) -> list[str]:
    """Which of the bars a case misses."""
    full = case.cost * case.capacity.max_batch / case.seconds(case.capacity.max_batch)
    bars = {
        "throughput": found.throughput >= _FULL * full,
        "company": mean(found.company) <= _WAIT,
        "waits in Triton": found.waits <= case.waits + case.delay,
    }
    return [bar for bar, holds in bars.items() if not holds]


def main() -> None:
    print(head(_HEAD))
    failed = 0
    for case in CASES:
        found = run(measure(case))
        full = case.cost * case.capacity.max_batch / case.seconds(case.capacity.max_batch)
        misses = failures(case, found)
        failed += bool(misses)
        company = f"{mean(found.company):.2f}, {max(found.company):.2f}"
        numbers = (f"{found.throughput:,.0f}", f"{found.throughput / full:.0%}", f"{found.calls_a_batch:.1f}")
        print(line((case.name, *numbers, f"{found.waits:.3f}", company, ", ".join(misses))), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
