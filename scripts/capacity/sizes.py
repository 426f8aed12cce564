"""The plan for four numbers of users, each simulated at its busiest moment: the table of docs/capacity.md."""

import json
import time
from collections.abc import Mapping
from typing import Any

from scripts.benchmark.common.output import head, line
from scripts.capacity import outcomes, scenarios
from scripts.capacity.fits import FOLDER, Fits
from scripts.capacity.sizing import Choices, Sizes, a_month, size
from scripts.capacity.traffic import TIERS, Traffic

_FILE = FOLDER / "sizes.json"
# Users, and seconds of the day that are simulated after a minute to warm up.
_USERS = {10_000: 600.0, 100_000: 300.0, 1_000_000: 60.0, 10_000_000: 15.0}
_CHOICES = Choices(zones=3)
_HEAD = ("users", "calls/s", "text", "voices", "Whisper", "frontends", "cores", f"{_CHOICES.prices.currency} a month")
_SEEN = (
    "users",
    "simulated",
    *(f"{tier}: p95, p99 s" for tier in TIERS),
    "tries refused",
    "given up",
    "took",
)


def planned(fits: Fits) -> list[Sizes]:
    """The four plans; two of three zones suffice for each."""
    return [size(fits, Traffic(users), _CHOICES) for users in _USERS]


def simulate(fits: Fits, warm_up: float, seed: int = 1) -> None:
    """Simulate all of them, and write down what callers saw."""
    rows = []
    for sizes, seconds in zip(planned(fits), _USERS.values(), strict=True):
        began = time.process_time()
        happened = scenarios.peak(fits, sizes, _CHOICES, seconds + warm_up, seed)
        calls = outcomes.counted(happened, warm_up)
        rows.append(_row(sizes, seconds, calls, time.process_time() - began))
        print(rows[-1], flush=True)
        _FILE.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def _row(sizes: Sizes, seconds: float, calls: outcomes.Calls, took: float) -> dict[str, Any]:
    by_tier = outcomes.by(calls, outcomes.tier_of, TIERS)
    tiers = {tier: [round(wait, 2) for wait in outcomes.waits(its, 0.95, 0.99)] for tier, its in by_tier.items()}
    return {
        "users": round(sizes.traffic.users),
        "seconds": seconds,
        "calls": len(calls),
        "tiers": tiers,
        "refused": sum(outcome.refused for _, outcome in calls),
        "given_up": sum(not outcome.answered for _, outcome in calls),
        "took": round(took),
    }


def reference() -> str:
    """The tables: what the formula says now, and what the simulation last said of it."""
    plans = [_plan_row(sizes) for sizes in planned(Fits.load(FOLDER / "real.json"))]
    seen = [_seen_row(row) for row in json.loads(_FILE.read_text(encoding="utf-8"))]
    return "\n".join([head(_HEAD), *plans, "", head(_SEEN), *seen])


def _plan_row(sizes: Sizes) -> str:
    tritons = (pool.tritons for pool in sizes.pools)
    values = (f"{sizes.traffic.peak_rate:.3g}", *tritons, sizes.frontends, f"{sizes.cores:,}")
    return line((f"{sizes.traffic.users:,.0f}", *values, f"{a_month(sizes.cost):,.0f}"))


def _seen_row(row: Mapping[str, Any]) -> str:
    tiers = (f"{row['tiers'][tier][0]:.2f}, {row['tiers'][tier][1]:.2f}" for tier in TIERS)
    simulated = f"{row['calls']:,} calls in {row['seconds']:g} s"
    return line((f"{row['users']:,}", simulated, *tiers, row["refused"], row["given_up"], f"{row['took']} s"))
