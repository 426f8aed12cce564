"""How long a company's calls take among free ones of all operations: python -m lab.probes.mixed

A company's key sends small calls, one at a time, first alone and then during load: callers of a free key for each
operation, with the calls of the benchmark, and bulk work.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from frontend.administration.commands.database import with_registry
from frontend.administration.registry import Registry
from frontend.config.settings import Settings
from scripts.benchmark.common.inputs import UNIT_OF, calls
from scripts.benchmark.common.load import Client, Sample, closed, connected
from scripts.benchmark.common.output import head, line
from scripts.benchmark.common.summary import summary
from scripts.benchmark.common.target import Target, own_product
from tests.soak.overload import COMPANY

_TIERS = ("company", "free", "bulk")
_DIFFERENT_CALLS = 64
_PAUSE_SECONDS = 0.2
_HEAD = ("operation", "company alone: p50, p95 ms", "among others", "times", "free: units/s", "p95 ms", "failed")


def _keys(target: Target) -> Mapping[str, str]:
    async def make(registry: Registry) -> dict[str, str]:
        return {tier: await registry.create(tier, tier, None, {}, None) for tier in _TIERS}

    return with_registry(Settings(database=target.database), make)


async def _company(client: Client, seconds: float) -> dict[str, list[Sample]]:
    """Send one call after another, of all operations in turn."""
    loop = asyncio.get_running_loop()
    samples: dict[str, list[Sample]] = {operation: [] for operation in COMPANY}
    end = loop.time() + seconds
    while loop.time() < end:
        for operation, call in COMPANY.items():
            samples[operation].append(await client.send(call, loop.time()))
            await asyncio.sleep(_PAUSE_SECONDS)
    return samples


async def _measure(target: Target, keys: Mapping[str, str], callers: int, seconds: float) -> None:
    async with AsyncExitStack() as stack:
        company, free, bulk = [await stack.enter_async_context(connected(target.address, keys[t])) for t in _TIERS]
        work = {operation: calls(operation, _DIFFERENT_CALLS, 1) for operation in COMPANY}
        await _company(company, 2.0)
        alone = await _company(company, seconds / 2)
        load = [closed(free, work[operation], callers, seconds + 2) for operation in COMPANY]
        bulks = asyncio.gather(*(closed(bulk, work[operation], callers, seconds) for operation in COMPANY))
        loaded = asyncio.gather(*load)
        await asyncio.sleep(2)
        among = await _company(company, seconds)
        samples = dict(zip(COMPANY, await loaded, strict=True))
        await bulks
    print(head(_HEAD))
    for operation in COMPANY:
        print(_row(operation, alone[operation], among[operation], samples[operation]), flush=True)


def _row(operation: str, alone: Sequence[Sample], among: Sequence[Sample], free: Sequence[Sample]) -> str:
    idle, busy, others = summary(alone), summary(among), summary(free)
    times = (f"{1000 * side.percentile('p50'):.0f}, {1000 * side.percentile('p95'):.0f}" for side in (idle, busy))
    ratio = f"{busy.percentile('p95') / idle.percentile('p95'):.1f}"
    rate = f"{others.units_a_second:.0f} {UNIT_OF[operation]}"
    failed = idle.failed + busy.failed + others.failed
    return line((operation, *times, ratio, rate, f"{1000 * others.percentile('p95'):.0f}", failed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--callers", type=int, default=4, help="of the free key and of bulk work, per operation")
    parser.add_argument("--seconds", type=float, default=40.0)
    given = parser.parse_args()
    with own_product() as started:
        asyncio.run(_measure(started, _keys(started), given.callers, given.seconds))


if __name__ == "__main__":
    main()
