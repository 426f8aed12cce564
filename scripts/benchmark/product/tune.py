"""Finds the settings of a model that meet a latency target, with Triton's model control.

    python -m scripts.benchmark.product.tune --model m3_embedder --p95 1.0
    python -m scripts.benchmark.product.tune --url http://host:8080/v1 --triton http://host:8000 --key KEY

It loads each combination, warms it up and measures it in a closed loop through the frontend. At the end it loads the
model as its file says; it does not change the file.
"""

import argparse
import asyncio
import functools
import itertools
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import aiohttp

from frontend.catalogue.models import MODELS, SPEECH, Served
from frontend.catalogue.voices import DEFAULTS_BY_LANGUAGE, KOKORO, VOICES
from scripts.benchmark.common import load, output
from scripts.benchmark.common.inputs import UNIT_OF, Call, calls
from scripts.benchmark.common.summary import summary
from scripts.benchmark.common.target import Target, own_product
from scripts.benchmark.product import batches
from scripts.benchmark.product.model_control import Control, Knobs, overridden
from scripts.benchmark.product.triton_counts import between, settled

_DIFFERENT_CALLS = 64
_LOAD_SECONDS = 600.0
# Seconds until a frontend notices that a model is gone; then interval (seconds) and number of tries until it is back.
_AWAY_SECONDS = 1.0
_AGAIN_SECONDS, _TRIES = 0.2, 300
_SERVED = 200
# Of Kokoro, the English one.
_VOICES = {**{voice.triton_model: name for name, voice in VOICES.items()}, KOKORO: DEFAULTS_BY_LANGUAGE["en"]}


@dataclass(frozen=True)
class Tried:
    """The result of one combination: ``p95`` in seconds, and throughput.

    From the frontend's metrics, or None without them: mean calls in flight, their bound, the work that an execution
    should have, and the share of it that executions had.
    """

    knobs: Knobs
    p95: float
    units_a_second: float
    unit: str
    mean_batch: float
    errors: int
    in_flight: float | None = None
    bound: float | None = None
    batch_work: float | None = None
    batch_fill: float | None = None

    def meets(self, p95: float) -> bool:
        return not self.errors and self.p95 <= p95


def combinations(config: dict[str, Any], arguments: argparse.Namespace) -> list[Knobs]:
    """All combinations of the requested values. A model without batches has no delay and no batch size."""
    batches = bool(config.get("max_batch_size")) and "dynamic_batching" in config
    delays, sizes = (arguments.delays, arguments.batches) if batches else ([None], [None])
    product = itertools.product(delays, sizes, arguments.instances, arguments.threads)
    return [Knobs(*values) for values in product]


def api_names(model: str) -> tuple[str, str, str]:
    """Operation, model and voice in the API of calls that go to a Triton model."""
    for offered in MODELS.values():
        if offered.triton_model == model or (model in _VOICES and offered.operation == SPEECH):
            return offered.operation, offered.id, _VOICES.get(model, "")
    raise ValueError(f"no call of the API goes to {model}")


async def _try(target: Target, knobs: Knobs, arguments: argparse.Namespace) -> Tried:
    operation, name, voice = api_names(arguments.model)
    requests = calls(operation, _DIFFERENT_CALLS, arguments.seed, name, voice)
    async with load.connected(target.address, target.key) as client:
        await _until_served(client, requests[0])
        await load.burst(client, requests[: arguments.callers])
        before = await settled(target.triton)
        async with batches.watched(_metrics(target, arguments), arguments.model) as seen:
            samples = await load.closed(client, requests, arguments.callers, arguments.seconds)
        counted = between(before, await settled(target.triton)).get(arguments.model, {})
    result, batch, fill = summary(samples), counted.get("mean_batch", 0.0), seen.fill(counted.get("executions", 0.0))
    given = (result.percentile("p95"), result.units_a_second, UNIT_OF[operation], batch, result.failed)
    return Tried(knobs, *given, seen.in_flight, seen.bound, seen.work, fill)


def _metrics(target: Target, arguments: argparse.Namespace) -> str:
    return str(arguments.metrics or f"{target.address.removesuffix('/v1')}/metrics")


async def _until_served(client: load.Client, request: Call) -> None:
    for _ in range(_TRIES):
        if (await client.send(request, asyncio.get_running_loop().time())).status == _SERVED:
            return
        await asyncio.sleep(_AGAIN_SECONDS)


async def _load(control: Control, config: dict[str, Any]) -> str:
    await control.unload()
    await asyncio.sleep(_AWAY_SECONDS)
    return await control.load(config)


async def sweep(target: Target, arguments: argparse.Namespace, report: Callable[[str], None]) -> list[Tried]:
    """Measure every combination, and load the model as before."""
    found: list[Tried] = []
    timeout = aiohttp.ClientTimeout(total=_LOAD_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        control = Control(session, target.triton, arguments.model, target.secret)
        config = await control.config()
        try:
            for knobs in combinations(config, arguments):
                if refused := await _load(control, overridden(config, knobs)):
                    report(f"{knobs}: {refused}")
                    continue
                found.append(await _try(target, knobs, arguments))
                report(row(found[-1], arguments.p95))
        finally:
            await _load(control, config)
            operation, name, voice = api_names(arguments.model)
            async with load.connected(target.address, target.key) as client:
                await _until_served(client, calls(operation, 1, arguments.seed, name, voice)[0])
    return found


_KNOBS = ("delay us", "max batch", "instances", "threads")
_GIVEN = ("p95 ms", "throughput/s", "mean batch", "in flight", "at most", "batch work", "batch fill", "holds")
_HEAD = output.head((*_KNOBS, *_GIVEN))


def row(tried: Tried, p95: float) -> str:
    """A line of the table."""
    numbers = (f"{1000 * tried.p95:.0f}", f"{tried.units_a_second:.0f} {tried.unit}", f"{tried.mean_batch:.2f}")
    seen = (_word(tried.in_flight, ".1f"), _word(tried.bound), _word(tried.batch_work), _word(tried.batch_fill, ".0%"))
    return output.line((*tried.knobs.words(), *numbers, *seen, "yes" if tried.meets(p95) else "no"))


def _word(number: float | None, form: str = ".0f") -> str:
    return "-" if number is None else format(number, form)


def table(found: list[Tried], p95: float) -> str:
    """Combinations that meet the target come first; each group is sorted by throughput."""
    best = sorted(found, key=lambda tried: (not tried.meets(p95), -tried.units_a_second))
    return "\n".join([_HEAD, *(row(tried, p95) for tried in best)])


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def parser() -> argparse.ArgumentParser:
    described = argparse.ArgumentParser(description="Find the settings of a model that meet a latency target.")
    described.add_argument("--model", choices=(*Served.of().triton_models, KOKORO), default="m3_embedder")
    described.add_argument("--p95", type=float, default=1.0, help="the target in seconds")
    described.add_argument("--callers", type=int, default=16)
    described.add_argument("--seconds", type=float, default=8.0, help="seconds of measurement per combination")
    described.add_argument("--delays", type=_numbers, default=[0, 2000, 10_000], help="max_queue_delay, microseconds")
    described.add_argument("--batches", type=_numbers, default=[4, 32], help="max_batch_size")
    described.add_argument("--instances", type=_numbers, default=[1, 2])
    described.add_argument("--threads", type=_numbers, default=[1, 2])
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


def main() -> int:
    arguments = parser().parse_args()
    running = Target(arguments.url, arguments.key, arguments.triton, secret=arguments.secret)
    print(_HEAD)
    with nullcontext(running) if arguments.url else own_product() as target:
        found = asyncio.run(sweep(target, arguments, functools.partial(print, flush=True)))
    if not found:
        return 1
    stem, shown = arguments.out / arguments.model, table(found, arguments.p95)
    numbers = {"model": arguments.model, "p95": arguments.p95, "tried": [asdict(tried) for tried in found]}
    output.write(stem, shown, numbers)
    print(f"\n{shown}\n\nwritten to {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
