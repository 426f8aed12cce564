"""Measure this machine, and what ``make bench`` gives on it: written as JSON, to be simulated."""

import asyncio
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from frontend.tritons.triton import Triton
from scripts.benchmark.common import load, output
from scripts.benchmark.common.inputs import calls
from scripts.benchmark.common.load import Sample
from scripts.benchmark.common.summary import Summary, summary
from scripts.benchmark.common.target import Target, own_product
from scripts.capacity.fits import Fits, ModelFit, RequestFit
from scripts.capacity.measuring.loaded import demand, stretched
from scripts.capacity.measuring.models import Executions
from scripts.capacity.measuring.processes import Processes, Spent
from scripts.capacity.measuring.requests import Sequential, with_wire
from scripts.capacity.measuring.traces import Tracer
from scripts.capacity.requests import MODEL_OF
from scripts.machine import processors

_OUTPUT_OF = {"embeddings": "embedding", "rerank": "score", "speech": "output", "transcriptions": "language"}
_IDLE_SECONDS = 4.0
_WARM_UP = 4
# The part of the processors that others may have, and how often a load is sent until they do not have more.
_QUIET, _MOST_TIMES = 0.03, 2


@dataclass(frozen=True)
class Plan:
    """What is measured: ``rounds`` executions of each model, ``alone`` requests one after another, ``loaded`` ones with
    a few callers, and the bench's loads, none where ``seconds`` is 0.
    """

    operations: Sequence[str]
    rounds: int
    alone: int
    loaded: int
    calls: int = 64
    callers: int = 16
    rate: float = 5.0
    burst: int = 32
    seconds: float = 8.0
    seed: int = 1


class Measuring:
    """One product of our own, measured by a plan."""

    def __init__(self, target: Target, tracer: Tracer, plan: Plan) -> None:
        self._target, self._tracer, self._plan = target, tracer, plan
        self._calls = {name: calls(name, plan.calls, plan.seed) for name in plan.operations}
        self._traced = {name: [tracer.trace(name, call) for call in its] for name, its in self._calls.items()}

    async def run(self) -> tuple[Fits, dict[str, Any]]:
        """The fits as they are alone (see ``finished``), and what the bench gave with its requests."""
        models = await self._models()
        async with load.connected(self._target.address, self._target.key) as client:
            self._processes = Processes()
            await asyncio.sleep(_IDLE_SECONDS)
            self._nothing = nothing = self._processes.spent()
            requests = await self._requests(client, nothing)
            loaded = slice(self._plan.loaded)
            self._demands = {
                name: await demand(client, self._processes, its[loaded]) for name, its in self._calls.items()
            }
            print(nothing, *self._demands.items(), sep="\n", flush=True)
            idle = (nothing.loop + nothing.threads + nothing.triton) / nothing.seconds
            return Fits(output.machine(), processors(), idle, models, requests), await self._bench(client)

    def finished(self, fits: Fits) -> Fits:
        """With the wire's time alone, and work as it is under load; outside of any event loop, since it simulates."""
        requests = {name: [traced.request for traced in its] for name, its in self._traced.items()}
        wired = {name: with_wire(fits, name, its[: self._plan.alone]) for name, its in requests.items()}
        fits = dataclasses.replace(fits, requests=wired)
        for name, found in self._demands.items():
            fits = stretched(fits, name, requests[name][: self._plan.loaded], found, self._nothing)
        return fits

    async def _models(self) -> dict[str, ModelFit]:
        found, triton = {}, Triton(self._target.grpc)
        async with aiohttp.ClientSession() as session:
            for name in self._plan.operations:
                model, tensors = MODEL_OF[name], [call for traced in self._traced[name] for call in traced.calls]
                length = self._tracer.length if name == "transcriptions" else None
                executions = Executions(self._target, session, triton, model, _OUTPUT_OF[name])
                found[model] = await executions.fitted(tensors, self._plan.rounds, length)
                print(model, found[model], flush=True)
        await triton.close()
        return found

    async def _requests(self, client: load.Client, nothing: Spent) -> dict[str, RequestFit]:
        found = {}
        sequential = Sequential(client, self._processes, nothing.loop / nothing.seconds)
        for name in self._plan.operations:
            alone = slice(self._plan.alone)
            requests = [traced.request for traced in self._traced[name][alone]]
            found[name] = await sequential.fitted(self._calls[name][alone], requests)
            print(name, found[name], flush=True)
        return found

    async def _bench(self, client: load.Client) -> dict[str, Any]:
        found: dict[str, Any] = {"plan": dataclasses.asdict(self._plan), "requests": {}, "results": []}
        for name in self._plan.operations if self._plan.seconds else ():
            found["requests"][name] = [dataclasses.asdict(traced.request) for traced in self._traced[name]]
            for shape in ("closed", "open", "burst"):
                spent, its = await self._quietly(client, name, shape)
                row = {"operation": name, "shape": shape, "spent": dataclasses.asdict(spent), **dataclasses.asdict(its)}
                found["results"].append(row)
                print(row, flush=True)
        return found

    async def _quietly(self, client: load.Client, name: str, shape: str) -> tuple[Spent, Summary]:
        """A load, again until others on the machine took next to nothing of its processors meanwhile: the quietest."""
        found: list[tuple[Spent, Summary]] = []
        while len(found) < _MOST_TIMES and (not found or _noise(found[-1][0]) > _QUIET):
            await load.burst(client, self._calls[name][:_WARM_UP])
            self._processes.spent()
            its = summary(await self._send(client, name, shape))
            found.append((self._processes.spent(), its))
        return min(found, key=lambda one: _noise(one[0]))

    async def _send(self, client: load.Client, name: str, shape: str) -> list[Sample]:
        plan, requests = self._plan, self._calls[name]
        sent = requests[: plan.burst] if shape == "burst" else requests
        return await load.Load(shape, sent, plan.callers, plan.rate, plan.seconds, plan.seed).send(client)


def _noise(spent: Spent) -> float:
    """The part of the processors that others had."""
    return spent.others / spent.seconds / processors()


def measure(plan: Plan, repository: Path) -> tuple[Fits, dict[str, Any]]:
    """Start the product over a repository and measure it."""
    tracer = Tracer(repository)
    with own_product(repository) as target:
        measuring = Measuring(target, tracer, plan)
        fits, bench = asyncio.run(measuring.run())
    return measuring.finished(fits), bench
