"""What waiting costs: processor time a call spends in the queue of its model, with many others waiting.

python -m scripts.benchmark.probes.queue_cost --waiting 10000
"""

import argparse
import asyncio
import random
import sys
import time

import uvloop

from frontend.dispatch.model_queue import Bounds, ModelQueue, Turn
from frontend.dispatch.scheduler import Rules
from scripts.benchmark.common.summary import Spread

_SLOTS, _KEYS = 64, 500


async def microseconds(waiting: int, calls: int) -> float:
    """Processor microseconds a call, from its arrival to its end; each that ends is followed by a new one."""
    queue = ModelQueue("model", Rules(), Bounds(waiting, waiting * 2), {"acme": 4})
    queue.set_limit("a", _SLOTS)
    rng, left, over = random.Random(1), calls, asyncio.Event()
    deadline = asyncio.get_running_loop().time() + 3600

    async def caller() -> None:
        nonlocal left
        while left > 0:
            async with queue.slot(Turn(rng.randrange(_KEYS), rng.randint(1, 3), None, deadline)):
                left -= 1
                await asyncio.sleep(0)
        over.set()

    callers = [asyncio.create_task(caller()) for _ in range(waiting + _SLOTS)]
    await asyncio.sleep(0)
    begun = time.process_time()
    await over.wait()
    spent = time.process_time() - begun
    for task in callers:
        task.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    return 1e6 * spent / calls


def main() -> int:
    parser = argparse.ArgumentParser(description="What waiting in the queue costs.")
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    found = Spread.of(uvloop.run(microseconds(arguments.waiting, arguments.calls)) for _ in range(arguments.runs))
    print(f"{arguments.waiting} waiting: {found:.1f} microseconds a call")
    return 0


if __name__ == "__main__":
    sys.exit(main())
