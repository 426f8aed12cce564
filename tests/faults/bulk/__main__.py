"""Bulk work at full size: killed and resumed, as fast as the benchmark, and no harm to others.

python -m tests.faults.bulk --phases kills,speed,beside,cluster-kills,cluster-speed

The last two need Ray (client/bulk/requirements.txt), and start two nodes here.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.load import Sample, closed, connected, poisson
from scripts.benchmark.common.summary import Spread, summary
from tests.eventually import until
from tests.faults.bulk.scene import OPERATIONS, Counter, Scene, faults, records_of, scene, texts_of

_CALLERS = 16
_LONGEST = 600.0
# Time in which others come up, and bulk work gives way: those are counted who call after that.
_SETTLE_SECONDS = 12.0
# Calls a second of the others: what leaves a processor idle for most of the time.
_RATE = {"embed": 2.0, "transcribe": 0.7}
_LIMIT_P95, _LIMIT_SPEED = 1.3, 0.9
_BENCHMARK_SECONDS = 15.0


async def _until(there: Counter, items: float) -> None:
    await until(lambda: there() >= items, _LONGEST)


async def killed_twice(its: Scene, operation: str, output: Path, *further: str) -> bool:
    """A third, SIGKILL, another third, SIGKILL, and the rest."""
    count, there = its.count(operation), Counter(output)
    for part in (count / 3, 2 * count / 3):
        bulk = await its.start(operation, output, *further)
        await _until(there, part)
        assert bulk.process.returncode is None, "it ended before it was killed"
        await bulk.kill()
        print(f"  {operation}: killed with {there()} of {count} items there", flush=True)
    await (await its.start(operation, output, *further)).end()
    found = faults(records_of(output), count)
    print(f"  {operation}: every item once" if not found else f"  {operation}: {'; '.join(found)}", flush=True)
    return not found


async def kills(its: Scene) -> bool:
    """Every item once, whatever is killed."""
    print("killed twice and resumed:", flush=True)
    return all([await killed_twice(its, operation, its.folder / f"{operation}.jsonl") for operation in its.operations])


async def _benchmark(its: Scene, operation: str, seconds: float) -> float:
    """Items a second of the benchmark's callers, who wait for their answers; a call of embeddings has four texts."""
    its_calls = its.bench_calls(operation, 64)
    async with connected(its.target.address, its.pro_key) as client:
        await closed(client, its_calls, _CALLERS, 2.0)
        samples = await closed(client, its_calls, _CALLERS, seconds)
    return summary(samples).units_a_second


async def _bulk_units(its: Scene, operation: str, output: Path, *further: str) -> float:
    """Of a whole run, in the benchmark's units: words, or seconds of audio."""
    items = await (await its.start(operation, output, *further)).end()
    its_calls = its.bench_calls(operation, its.count(operation) // (4 if operation == "embed" else 1))
    return items * sum(call.units for call in its_calls) / its.count(operation)


async def speed(its: Scene, rounds: int, *further: str) -> bool:
    """As fast as the benchmark with the same work, before and after it: the machine is not the same all the time."""
    held = True
    for operation in its.operations:
        bench, bulk = [await _benchmark(its, operation, _BENCHMARK_SECONDS)], []
        for number in range(rounds):
            # The tier bulk waits for an idle Triton.
            await asyncio.sleep(6)
            suffix = "parquet" if further else "jsonl"
            bulk.append(await _bulk_units(its, operation, its.folder / f"{operation}-{number}.{suffix}", *further))
            bench.append(await _benchmark(its, operation, _BENCHMARK_SECONDS))
            print(f"  {operation}: units a second: {bench[-2]:.0f}, bulk {bulk[-1]:.0f}, {bench[-1]:.0f}", flush=True)
        ratio = Spread.of_ratios(bulk, ((one + other) / 2 for one, other in pairwise(bench)))
        print(f"{operation}: bulk is {ratio:.2f} times the benchmark's rate (at least {_LIMIT_SPEED})", flush=True)
        held = held and ratio.median >= _LIMIT_SPEED
    return held


def _calls_of_others(its: Scene, operation: str) -> list[Call]:
    """A text of 8 to 500 words, or a recording of 5 to 15 s."""
    calls = its.bench_calls(operation, 64)
    if operation == "embed":
        return [replace(call, body={**(call.body or {}), "input": (call.body or {})["input"][:1]}) for call in calls]
    return calls


async def _others(its: Scene, seconds: float, seed: int) -> dict[str, list[Sample]]:
    """Callers of the tier pro who do not wait for each other, of both operations at once."""
    async with connected(its.target.address, its.pro_key) as client:

        async def turn(length: float) -> dict[str, list[Sample]]:
            sent = [
                poisson(client, _calls_of_others(its, operation), _RATE[operation], length, seed)
                for operation in OPERATIONS
            ]
            return dict(zip(OPERATIONS, await asyncio.gather(*sent), strict=True))

        await turn(_SETTLE_SECONDS)
        return await turn(seconds)


async def _others_beside(its: Scene, seconds: float, number: int) -> dict[str, list[Sample]]:
    """The same while bulk work of both kinds is under way."""
    outputs = [its.folder / f"beside-{number}-{operation}.jsonl" for operation in OPERATIONS]
    runs = [await its.start(operation, output) for operation, output in zip(OPERATIONS, outputs, strict=True)]
    there = [Counter(output) for output in outputs]
    for counter in there:
        await _until(counter, 1)
    before = [counter() for counter in there]
    samples = await _others(its, seconds, number)
    done = [counter() - items for counter, items in zip(there, before, strict=True)]
    for run in runs:
        await run.kill()
    print(f"  round {number + 1}: bulk work did {done} items beside", flush=True)
    # What the killed runs had sent has ended.
    await asyncio.sleep(3)
    return samples


async def beside(its: Scene, rounds: int, seconds: float) -> bool:
    """Others' times alone and beside bulk work on the same models, in turn; the median of the rounds' ratios counts."""
    print("others, alone and beside bulk work:", flush=True)
    both = [
        (await _others(its, seconds, number), await _others_beside(its, seconds, number)) for number in range(rounds)
    ]
    held = True
    for operation in OPERATIONS:
        ones, others = ([summary(turn[operation]) for turn in turns] for turns in zip(*both, strict=True))
        assert not sum(turn.failed for turn in ones + others)
        for one, other in zip(ones, others, strict=True):
            times = " ".join(
                f"{name} {1000 * one.percentile(name):.0f} -> {1000 * other.percentile(name):.0f} ms;"
                for name in ("p50", "p90", "p95", "p99")
            )
            print(f"  {operation}: {times} {one.calls} + {other.calls} calls", flush=True)
        p95 = [[turn.percentile("p95") for turn in turns] for turns in (others, ones)]
        ratio = Spread.of_ratios(*p95)
        all_calls = [
            summary([sample for turn in turns for sample in turn[operation]]) for turns in zip(*both, strict=True)
        ]
        alone, with_bulk = (calls.percentile("p95") for calls in all_calls)
        of_all = f"of all calls {1000 * alone:.0f} -> {1000 * with_bulk:.0f} ms"
        print(f"{operation}: p95 {ratio:.2f} times (at most {_LIMIT_P95}), {of_all}", flush=True)
        held = held and ratio.median <= _LIMIT_P95
    return held


@contextmanager
def _two_nodes() -> Iterator[str]:
    # Ray tells its makers of each cluster that it starts, unless it is told not to.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    try:
        yield str(cluster.address)
    finally:
        cluster.shutdown()


async def cluster_kills(its: Scene) -> bool:
    """The same over Ray: the command is killed, the cluster stays."""
    print("on a Ray cluster of two nodes, killed twice and resumed:", flush=True)
    with _two_nodes() as address:
        outputs = [(operation, its.folder / f"{operation}.parquet") for operation in its.operations]
        return all([await killed_twice(its, *output, "--ray", address) for output in outputs])


async def cluster_speed(its: Scene, rounds: int) -> bool:
    """As fast over Ray."""
    print("on a Ray cluster of two nodes:", flush=True)
    with _two_nodes() as address:
        return await speed(its, rounds, "--ray", address)


async def _run(its: Scene, arguments: argparse.Namespace) -> bool:
    phases = {
        "kills": lambda: kills(its),
        "speed": lambda: speed(its, arguments.rounds),
        "beside": lambda: beside(its, arguments.rounds, arguments.seconds),
        "cluster-kills": lambda: cluster_kills(its),
        "cluster-speed": lambda: cluster_speed(its, arguments.rounds),
    }
    return all([await phases[name]() for name in arguments.phases.split(",")])


def main() -> int:
    parser = argparse.ArgumentParser(description="Bulk work at full size.")
    parser.add_argument("--phases", default="kills,speed,beside,cluster-kills,cluster-speed")
    parser.add_argument("--operations", default=",".join(OPERATIONS), help="of all phases but beside, which has both")
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--longest", type=int, default=500, help="words of a text; only 500 is the benchmark's work")
    parser.add_argument("--recordings", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each turn of the phase beside")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="quartet-bulk-") as folder,
        scene(Path(folder), texts_of(arguments.texts, arguments.longest), arguments.recordings) as its,
    ):
        its = replace(its, operations=tuple(arguments.operations.split(",")))
        held = asyncio.run(_run(its, arguments))
    print("everything held" if held else "something did not hold")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
