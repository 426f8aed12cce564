"""How promptly the frontend's event loop answers while all four operations run at full load.

python -m scripts.benchmark.probes.loop_delay
"""

import asyncio
import re
import sys
from urllib.parse import urlsplit

import aiohttp
import uvloop

from scripts.benchmark.common import load
from scripts.benchmark.common.inputs import OPERATIONS, calls
from scripts.benchmark.common.summary import summary
from scripts.benchmark.common.target import Target, own_product

_SECONDS = 60.0
_CALLERS = 8
_SHARES = (0.5, 0.99, 0.999)
_BUCKET = re.compile(r'quartet_loop_delay_seconds_bucket\{le="([^"]+)"\} ([\d.e+]+)')


async def _buckets(target: Target) -> dict[float, float]:
    """Upper bound in seconds to how many timers were at most that late, since the start."""
    parts = urlsplit(target.address)
    async with aiohttp.ClientSession() as session, session.get(f"http://{parts.netloc}/metrics") as response:
        return {float(bound): float(count) for bound, count in _BUCKET.findall(await response.text())}


def bound(before: dict[float, float], after: dict[float, float], share: float) -> float:
    """The least bucket, in seconds, below which ``share`` of the timers between two readings lies."""
    counts = {edge: count - before.get(edge, 0.0) for edge, count in after.items()}
    return min(edge for edge, count in counts.items() if count >= share * max(counts.values()))


async def measure(target: Target) -> None:
    before = await _buckets(target)
    async with load.connected(target.address, target.key) as client:
        loads = (load.closed(client, calls(name, 64, 1), _CALLERS, _SECONDS) for name in OPERATIONS)
        samples = await asyncio.gather(*loads)
    after = await _buckets(target)
    for name, its in zip(OPERATIONS, samples, strict=True):
        print(f"{name}: {len(its)} calls, {summary(its).failed} of them failed")
    for share in _SHARES:
        print(f"{100 * share:g} % of the timers were at most {1000 * bound(before, after, share):g} ms late")


def main() -> int:
    with own_product() as target:
        uvloop.run(measure(target))
    return 0


if __name__ == "__main__":
    sys.exit(main())
