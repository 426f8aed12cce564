"""Callers of everything, faults of everything, for an hour: python -m tests.soak --minutes 60 --seed 1

Starts a Triton with the demo's models, two frontends, Postgres, Redis and a chat server. Writes build/soak/report.md
with plots, also when Ctrl-C ends it earlier. Ends with 1 if a promise broke or something leaks, and says what.
"""

import argparse
import asyncio
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from frontend.config.reading import PREFIX
from tests.soak import books, report
from tests.soak.faults import FAULTS, Weather
from tests.soak.kinds import prepare
from tests.soak.product import Product
from tests.soak.traffic import Traffic
from tests.soak.verdict import Soak, verdict
from tests.soak.watch import GAUGES, Watch

# Calm at the end, and the time after which nothing may be in hand.
_CALM_SECONDS, _EMPTY_SECONDS = 30.0, 5.0
_PATIENCE_SECONDS = 60.0


async def _soak(product: Product, given: argparse.Namespace) -> Soak:
    seconds = 60 * given.minutes
    traffic = Traffic(product, given.callers, given.pause, given.seed)
    watch = Watch(product, traffic.now)
    # Within an hour each fault comes about three times; a short soak has as many as fit.
    calm = min(given.calm, seconds / len(FAULTS) / 2)
    weather = Weather(product, traffic.now, calm, seconds - _CALM_SECONDS, given.seed)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, weather.stop)
    calling, watching = asyncio.create_task(traffic.run()), asyncio.create_task(watch.run())
    raining = asyncio.create_task(weather.run())
    done, _ = await asyncio.wait((raining, calling, watching), return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    await asyncio.sleep(_CALM_SECONDS)
    traffic.stop()
    await calling
    spent = traffic.now()
    await asyncio.sleep(_EMPTY_SECONDS)
    watching.cancel()
    look = await asyncio.to_thread(watch.look, _PATIENCE_SECONDS)
    left = {f"{name} of frontend {n}": each[name] for n, each in look.gauges.items() for name in GAUGES}
    died = [f"frontend {n} is gone" for n in (1, 2) if n not in look.gauges]
    died += [] if product.triton.alive() else ["Triton is gone"]
    codes = [await frontend.stop() for frontend in product.frontends]
    wrong = books.faults(await books.read(product.database), traffic.answers)
    print(f"{len(traffic.answers)} answers, {len(weather.windows)} faults in {spent:.0f} s", flush=True)
    return Soak(spent, traffic.answers, weather.windows, watch.looks, left, codes, died, wrong)


async def _run(given: argparse.Namespace) -> list[str]:
    shutil.rmtree(given.out, ignore_errors=True)
    product = Product(given.out.absolute())
    try:
        await asyncio.to_thread(prepare)
        await product.start()
        soak = await _soak(product, given)
    finally:
        await product.close()
    faults = verdict(soak)
    command = f'make soak SOAK="--minutes {given.minutes:g} --callers {given.callers} --seed {given.seed}"'
    report.write(given.out, soak, faults, command)
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description="Soak the product.")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--callers", type=int, default=6)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds between two calls of a caller")
    parser.add_argument("--calm", type=float, default=60.0, help="seconds between two faults")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--out", type=Path, default=Path("build/soak"))
    given = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]
    print(f"seed {given.seed}", flush=True)
    faults = asyncio.run(_run(given))
    print(*faults or ["every promise was kept"], f"the report is {given.out}/report.md", sep="\n", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
