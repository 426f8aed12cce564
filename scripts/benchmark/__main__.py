"""Load an address and measure: python -m scripts.benchmark --operations embeddings,speech --callers 16 --seconds 20

Without ``--url`` it starts the product itself, with limits out of the way. With it, any server that speaks OpenAI's
protocol can be measured; ``--model operation=name`` names its models.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.benchmark import load, machine, report
from scripts.benchmark.inputs import OPERATIONS, calls
from scripts.benchmark.target import Target, own_product
from scripts.benchmark.triton_counts import TritonCounts, between

_DIFFERENT_CALLS = 64
_WARM_UP_CALLS = 4
_SHAPES = ("closed", "open", "burst")


async def _run(client: load.Client, operation: str, shape: str, arguments: argparse.Namespace) -> list[load.Sample]:
    model = dict(arguments.model).get(operation, "")
    requests = calls(operation, _DIFFERENT_CALLS, arguments.seed, model)
    await load.burst(client, requests[:_WARM_UP_CALLS])
    if shape == "open":
        return await load.poisson(client, requests, arguments.rate, arguments.seconds, arguments.seed)
    if shape == "burst":
        return await load.burst(client, calls(operation, arguments.burst, arguments.seed, model))
    return await load.closed(client, requests, arguments.callers, arguments.seconds)


def _described(shape: str, arguments: argparse.Namespace) -> str:
    words = {"closed": f"{arguments.callers} callers", "open": f"{arguments.rate:g}/s Poisson"}
    return words.get(shape, f"burst of {arguments.burst}")


async def _measure(target: Target, arguments: argparse.Namespace) -> None:
    triton = TritonCounts(target.triton)
    results, samples = [], []
    async with load.connected(target.address, target.key) as client:
        for operation in arguments.operations:
            for shape in arguments.shapes:
                before = await triton.read()
                its = await _run(client, operation, shape, arguments)
                counted = between(before, await triton.read())
                described = _described(shape, arguments)
                run = report.result(operation, described, OPERATIONS[operation].unit, its, counted)
                results.append(run)
                samples.append(its)
                print(report.table([run]).splitlines()[-1], flush=True)
    report.write(arguments.out, machine.describe(), results, samples)
    print(f"\n{report.table(results)}\n\nwritten to {arguments.out}")


def _several(allowed: Sequence[str], text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in allowed:
            raise argparse.ArgumentTypeError(f"{name!r}: choose from {', '.join(allowed)}")
    return names


def _model(text: str) -> tuple[str, str]:
    operation, _, name = text.partition("=")
    if operation not in OPERATIONS or not name:
        raise argparse.ArgumentTypeError(f"{text!r}: write embeddings=name")
    return operation, name


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Load Quartet, or another server, and measure.")
    parser.add_argument("--url", default="", help="a base address with /v1; without it the product is started")
    parser.add_argument("--key", default=os.environ.get("QUARTET_API_KEY", ""), help="the API key for --url")
    parser.add_argument("--triton", default="", help="Triton's HTTP address, for its own counts, with --url")
    parser.add_argument("--model", action="append", type=_model, default=[], help="embeddings=name, with --url")
    parser.add_argument("--operations", type=lambda text: _several(tuple(OPERATIONS), text), default=list(OPERATIONS))
    parser.add_argument("--shapes", type=lambda text: _several(_SHAPES, text), default=list(_SHAPES))
    parser.add_argument("--callers", type=int, default=16, help="callers of the closed loop")
    parser.add_argument("--rate", type=float, default=5.0, help="arrivals a second of the open loop")
    parser.add_argument("--burst", type=int, default=32, help="calls of the burst")
    parser.add_argument("--seconds", type=float, default=15.0, help="how long the closed and the open loop last")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    return parser


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.url:
        asyncio.run(_measure(Target(arguments.url, arguments.key, arguments.triton), arguments))
        return 0
    with own_product() as target:
        asyncio.run(_measure(target, arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
