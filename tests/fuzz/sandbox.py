"""Damaged files in the processes that decode uploads: each comes to sound, to silence or to a refusal."""

import time
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from frontend.errors import BadGateway
from frontend.processes.offload import Offload, TaskKilledError
from tests.fuzz.decoding import outcomes, warm
from tests.fuzz.sending import Report

_BATCH = 25
# Processor seconds of a file of at most 400 kB: more is a fault.
_MOST_SECONDS = 2.0


async def decode_all(seeds: Iterable[int], until: float = 1e12) -> Report:
    """Decode the files of these seeds in a process as the product's, up to ``until`` (monotonic seconds)."""
    report, left, began = Report(), iter(seeds), time.monotonic()
    pool = Offload("audio", 1, tasks=40, seconds=30.0, prepare=warm)
    try:
        while time.monotonic() < until and (batch := list(islice(left, _BATCH))):
            try:
                _note(report, batch, await pool.run(outcomes, batch))
            except (BadGateway, TaskKilledError):
                for seed in batch:
                    await _alone(pool, seed, report)
    finally:
        await pool.close()
    report.seconds = time.monotonic() - began
    return report


async def _alone(pool: Offload, seed: int, report: Report) -> None:
    try:
        _note(report, [seed], await pool.run(outcomes, [seed]))
    except (BadGateway, TaskKilledError) as error:
        _note(report, [seed], [(f"fault {type(error).__name__}: {error}", 0.0)])


def _note(report: Report, seeds: Sequence[int], found: Sequence[tuple[Any, float]]) -> None:
    for seed, (outcome, seconds) in zip(seeds, found, strict=True):
        report.sent += 1
        report.statuses[outcome.partition(" ")[0]] += 1
        report.longest_ms = max(report.longest_ms, 1000 * seconds)
        if " " in outcome or seconds > _MOST_SECONDS:
            report.found.append((seed, f"{outcome}, {seconds:.1f} s"))
