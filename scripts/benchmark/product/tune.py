"""Finds the settings of a model that meet a latency target, with Triton's model control.

    python -m scripts.benchmark.product.tune --model m3_embedder --p95 1.0 --apply
    python -m scripts.benchmark.product.tune --model embed-e5
    python -m scripts.benchmark.product.tune --model mine --inputs mine.json
    python -m scripts.benchmark.product.tune --url http://host:8080/v1 --triton http://host:8000 --key KEY

It loads each combination, what runs first, warms it up and measures it in a closed loop through the frontend; with
``--inputs``, a model of one's own without it. Then it
measures the best one and what ran once more, in turn. At the end it loads the model as before, and prints the lines for
the model's file, or writes them with ``--apply``.
"""

import argparse
import asyncio
import functools
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import aiohttp

from scripts.benchmark.common import load, output
from scripts.benchmark.common.inputs import UNIT_OF, Call, calls
from scripts.benchmark.common.summary import summary
from scripts.benchmark.common.target import Target, own_product
from scripts.benchmark.product import batches
from scripts.benchmark.product.api_names import api_names, triton_model, triton_models
from scripts.benchmark.product.model_control import Control, Knobs, overridden
from scripts.benchmark.product.own_inputs import own_calls
from scripts.benchmark.product.sweep import (
    HEAD,
    Sweep,
    Tried,
    by_use,
    combinations,
    give,
    in_minutes,
    length,
    row,
    table,
)
from scripts.benchmark.product.triton_counts import between, settled
from scripts.run.signals import INTERRUPTED, cancel_when_interrupted

_DIFFERENT_CALLS = 64
_LOAD_SECONDS = 600.0
# Interval (seconds) and number of tries until a frontend serves a loaded model.
_AGAIN_SECONDS, _TRIES = 0.2, 300
_SERVED = 200


@dataclass(frozen=True)
class _Load:
    """The requests of a run and their address; ``metrics`` is that of the frontend's."""

    address: str
    key: str
    requests: Sequence[Call]
    unit: str
    metrics: str = ""

    @classmethod
    def of(cls, target: Target, arguments: argparse.Namespace, config: dict[str, Any]) -> "_Load":
        if arguments.inputs:
            return cls(target.triton, "", own_calls(arguments.inputs, config), "calls")
        operation, name, voice = api_names(arguments.model)
        metrics = str(arguments.metrics or f"{target.address.removesuffix('/v1')}/metrics")
        requests = calls(operation, _DIFFERENT_CALLS, arguments.seed, name, voice)
        return cls(target.address, target.key, requests, UNIT_OF[operation], metrics)


async def _try(target: Target, knobs: Knobs, arguments: argparse.Namespace, sent: _Load) -> Tried:
    async with load.connected(sent.address, sent.key) as client:
        await _until_served(client, sent.requests[0])
        await load.burst(client, sent.requests[: arguments.callers])
        before = await settled(target.triton)
        async with batches.watched(sent.metrics, arguments.model) as seen:
            samples = await load.closed(client, sent.requests, arguments.callers, arguments.seconds)
        counted = between(before, await settled(target.triton)).get(arguments.model, {})
    result, batch, fill = summary(samples), counted.get("mean_batch", 0.0), seen.fill(counted.get("executions", 0.0))
    given = (result.percentile("p95"), result.units_a_second, sent.unit, batch, result.failed)
    return Tried(knobs, *given, seen.in_flight, seen.bound, seen.work, fill)


async def _until_served(client: load.Client, request: Call) -> None:
    status = 0
    for _ in range(_TRIES):
        status = (await client.send(request, asyncio.get_running_loop().time())).status
        if status == _SERVED:
            return
        if status in (401, 403, 404):
            break
        await asyncio.sleep(_AGAIN_SECONDS)
    raise SystemExit(f"{request.path} is not served: {f'it answers {status}' if status else 'no connection'}")


async def sweep(target: Target, arguments: argparse.Namespace, report: Callable[[str], None]) -> Sweep:
    """Measure every combination, and load the model as before, also if it is cancelled."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_LOAD_SECONDS)) as session:
        control = Control(session, target.triton, arguments.model, target.secret)
        if arguments.inputs:
            await control.load_if_needed()
        config = await control.config()
        sent = _Load.of(target, arguments, config)

        async def measured(knobs: Knobs) -> list[Tried]:
            if refused := await control.load(overridden(config, knobs)):
                report(f"not loaded with {knobs}: {refused}")
                return []
            tried = await _try(target, knobs, arguments, sent)
            report(row(tried, arguments.p95))
            return [tried]

        try:
            return await _measure(combinations(config, arguments), config, arguments, measured, report)
        finally:
            # The terminal may be gone.
            with suppress(OSError):
                print(f"loading {arguments.model} as before; Ctrl-C leaves it as it is", file=sys.stderr, flush=True)
            if refused := await control.load(config):
                raise SystemExit(f"{arguments.model} is not loaded as before: {refused}")
            async with load.connected(sent.address, sent.key) as client:
                await _until_served(client, sent.requests[0])


async def _measure(
    rows: Sequence[Knobs],
    config: dict[str, Any],
    arguments: argparse.Namespace,
    measured: Callable[[Knobs], Awaitable[list[Tried]]],
    report: Callable[[str], None],
) -> Sweep:
    running, *others = rows
    report(f"{length(len(rows), arguments.seconds)}\n\n{HEAD}")
    began = time.monotonic()
    found = await measured(running)
    if others:
        rest = in_minutes((time.monotonic() - began) * len(others))
        print(f"this is what runs; the other {len(others)} rows take about {rest}", file=sys.stderr, flush=True)
    for knobs in others:
        found += await measured(knobs)
    best = next((tried.knobs for tried in by_use(found, arguments.p95) if tried.meets(arguments.p95)), running)
    if best == running:
        return Sweep(config, found, [])
    # The best of many rows was lucky too.
    return Sweep(config, found, [*await measured(running), *await measured(best)])


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def parser() -> argparse.ArgumentParser:
    described = argparse.ArgumentParser(description="Find the settings of a model that meet a latency target.")
    described.add_argument("--model", type=triton_model, default="m3_embedder")
    described.add_argument("--inputs", type=Path, help="requests of a model of your own, as perf_analyzer reads them")
    described.add_argument("--p95", type=float, default=1.0, help="the target in seconds")
    described.add_argument("--apply", action="store_true", help="write the best row into the model's file")
    described.add_argument("--callers", type=int, default=16)
    described.add_argument("--seconds", type=float, default=8.0, help="seconds of measurement per combination")
    for name, what in (
        ("delays", "max_queue_delay, microseconds"),
        ("batches", "max_batch_size"),
        ("instances", "instances"),
        ("threads", "threads of an instance"),
    ):
        described.add_argument(f"--{name}", type=_numbers, help=f"{what}; by default values around what runs")
    described.add_argument("--url", default="", help="a running Quartet, with /v1; else it is started")
    described.add_argument("--triton", default="", help="its Triton's HTTP address, with --url")
    described.add_argument(
        "--metrics", default="", help="its frontend's metrics, with --url; by default /metrics next to /v1"
    )
    described.add_argument("--key", default=os.environ.get("QUARTET_API_KEY", ""))
    described.add_argument(
        "--secret", default=os.environ.get("QUARTET_TRITON_SECRET", ""), help="that of its Triton, with --url"
    )
    described.add_argument("--seed", type=int, default=1)
    described.add_argument("--out", type=Path, default=Path("build/tune"))
    return described


def _at_once() -> None:
    os._exit(INTERRUPTED)


async def _sweep_until_a_signal(target: Target, arguments: argparse.Namespace, report: Callable[[str], None]) -> Sweep:
    cancel_when_interrupted(_at_once)
    return await sweep(target, arguments, report)


def main() -> int:
    described = parser()
    arguments = described.parse_args()
    if bool(arguments.url) != bool(arguments.triton) and not (arguments.inputs and arguments.triton):
        described.error("--url and --triton go together")
    if arguments.model not in triton_models() and not arguments.inputs:
        others = ", ".join(triton_models())
        described.error(f"argument --model: {arguments.model!r} needs --inputs; without, there are {others}")
    running = Target(arguments.url, arguments.key, arguments.triton, secret=arguments.secret)
    report = functools.partial(print, flush=True)
    try:
        with nullcontext(running) if arguments.triton else own_product() as target:
            try:
                swept = asyncio.run(_sweep_until_a_signal(target, arguments, report))
            except aiohttp.ClientError as error:
                raise SystemExit(f"Triton at {target.triton}: {error}") from None
    except (asyncio.CancelledError, KeyboardInterrupt):
        return INTERRUPTED
    shown = table(swept.found, arguments.p95)
    named = {"model": arguments.model, "p95": arguments.p95}
    output.write(arguments.out / arguments.model, shown, {**named, "tried": [asdict(each) for each in swept.found]})
    print(f"\n{shown}\n\nwritten to {arguments.out}\n")
    return give(swept, arguments)


if __name__ == "__main__":
    sys.exit(main())
