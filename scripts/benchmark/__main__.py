"""Measures every operation under three shapes of load: python -m scripts.benchmark --operations speech --callers 16

Without ``--url`` it starts the product, without rate limits. With it, it measures any server with OpenAI's protocol.
``--model embed-e5`` measures a model that was added to the product; ``--model operation=name`` one of any server.
"""

import argparse
import asyncio
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scripts.benchmark.common import load, output
from scripts.benchmark.common.inputs import UNIT_OF, calls
from scripts.benchmark.common.load import Sample
from scripts.benchmark.common.summary import Summary, summary
from scripts.benchmark.common.target import Target, own_product
from scripts.benchmark.product.api_names import operation_of
from scripts.benchmark.product.triton_counts import Counts, between, settled

_DIFFERENT_CALLS = 64
_WARM_UP_CALLS = 4
_SHAPES = ("closed", "open", "burst")
_HEAD = ("operation", "load", "calls/s", "units/s", "p50 ms", "p95 ms", "p99 ms", "errors", "mean batch", "queue ms")


@dataclass(frozen=True)
class Run:
    """An operation under one shape of load, with Triton's counts."""

    operation: str
    shape: str
    samples: Sequence[Sample]
    triton: Counts

    @property
    def unit(self) -> str:
        return UNIT_OF[self.operation]

    @property
    def summary(self) -> Summary:
        return summary(self.samples)

    def numbers(self) -> dict[str, Any]:
        """The entry of the JSON file."""
        named = {"operation": self.operation, "shape": self.shape, "unit": self.unit, "triton": self.triton}
        return {**named, **asdict(self.summary)}

    def line(self) -> str:
        """The line of the table."""
        measured = self.summary
        busiest: dict[str, float] = max(self.triton.values(), key=lambda model: model["requests"], default={})
        return output.line(
            (
                self.operation,
                self.shape,
                f"{measured.calls_a_second:.1f}",
                f"{measured.units_a_second:.0f} {self.unit}",
                *(f"{1000 * measured.percentile(name):.1f}" for name in ("p50", "p95", "p99")),
                measured.failed,
                f"{busiest['mean_batch']:.2f}" if busiest else "-",
                f"{busiest['queue_ms']:.2f}" if busiest else "-",
            )
        )


def write(folder: Path, runs: Sequence[Run]) -> str:
    """Write ``results.json`` and ``results.md`` to ``folder``; return the table."""
    table = "\n".join([output.head(_HEAD), *(run.line() for run in runs)])
    output.write(folder / "results", table, {"results": [run.numbers() for run in runs]})
    return table


async def _send(client: load.Client, operation: str, shape: str, arguments: argparse.Namespace) -> list[Sample]:
    model = dict(arguments.model).get(operation, "")
    requests = calls(operation, _DIFFERENT_CALLS, arguments.seed, model)
    await load.burst(client, requests[:_WARM_UP_CALLS])
    if shape == "burst":
        return await load.burst(client, calls(operation, arguments.burst, arguments.seed, model))
    if shape == "open":
        return await load.poisson(client, requests, arguments.rate, arguments.seconds, arguments.seed)
    return await load.closed(client, requests, arguments.callers, arguments.seconds)


def _described(shape: str, arguments: argparse.Namespace) -> str:
    words = {"closed": f"{arguments.callers} callers", "open": f"{arguments.rate:g}/s Poisson"}
    return words.get(shape, f"burst of {arguments.burst}")


async def _measure(target: Target, arguments: argparse.Namespace) -> None:
    runs = []
    async with load.connected(target.address, target.key) as client:
        for operation in arguments.operations:
            for shape in arguments.shapes:
                before = await settled(target.triton)
                samples = await _send(client, operation, shape, arguments)
                counted = between(before, await settled(target.triton))
                runs.append(Run(operation, _described(shape, arguments), samples, counted))
                print(runs[-1].line(), flush=True)
    print(f"\n{write(arguments.out, runs)}\n\nwritten to {arguments.out}")


def _several(allowed: Sequence[str], text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in allowed:
            raise argparse.ArgumentTypeError(f"{name!r}: choose from {', '.join(allowed)}")
    return names


def _model(text: str) -> tuple[str, str]:
    operation, _, name = text.partition("=") if "=" in text else (operation_of(text), "", text)
    if operation not in UNIT_OF or not name:
        raise argparse.ArgumentTypeError(f"{text!r}: no model has this name here; write embeddings=name")
    return operation, name


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Load Quartet, or another server, and measure.")
    parser.add_argument("--url", default="", help="a base address with /v1; without it the product is started")
    parser.add_argument("--key", default=os.environ.get("QUARTET_API_KEY", ""), help="the API key for --url")
    parser.add_argument("--triton", default="", help="Triton's HTTP address, for its own counts, with --url")
    parser.add_argument("--model", action="append", type=_model, default=[], help="its name, or embeddings=name")
    parser.add_argument(
        "--operations", type=lambda text: _several(tuple(UNIT_OF), text), help="by default those of the models, or all"
    )
    parser.add_argument("--shapes", type=lambda text: _several(_SHAPES, text), default=list(_SHAPES))
    parser.add_argument("--callers", type=int, default=16, help="callers of the closed loop")
    parser.add_argument("--rate", type=float, default=5.0, help="arrivals a second of the open loop")
    parser.add_argument("--burst", type=int, default=32, help="calls of the burst")
    parser.add_argument("--seconds", type=float, default=15.0, help="how long the closed and the open loop last")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    return parser


def parsed(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments, with the operations to measure."""
    arguments = _parser().parse_args(given)
    arguments.operations = arguments.operations or list(dict(arguments.model)) or list(UNIT_OF)
    return arguments


def main() -> None:
    arguments = parsed()
    running = Target(arguments.url, arguments.key, arguments.triton)
    with nullcontext(running) if arguments.url else own_product() as target:
        asyncio.run(_measure(target, arguments))


if __name__ == "__main__":
    main()
