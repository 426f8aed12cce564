"""The time to the first and to the last sound of a streamed and of a whole answer: python -m lab.probes.first_sound"""

import argparse
import asyncio
import math
import random
import statistics
import time
from collections.abc import Sequence

import aiohttp
import uvloop

from frontend.config.reading import PREFIX
from scripts.benchmark.common.inputs import speech_text
from scripts.benchmark.common.target import Target, own_product

_VOICE = "ryan"
# Bytes of a WAV file's head: sound begins after it.
_HEAD = 44
_WAYS = {"streamed": {"stream_format": "audio"}, "whole": {}}


async def _sounds(session: aiohttp.ClientSession, url: str, way: str, text: str) -> tuple[float, float]:
    """Milliseconds until the first and until the last sound."""
    body = {"voice": _VOICE, "response_format": "wav", "input": text, **_WAYS[way]}
    started, size, first = time.perf_counter(), 0, 0.0
    async with session.post(url, json=body) as answer:
        answer.raise_for_status()
        async for piece in answer.content.iter_any():
            size += len(piece)
            if not first and size > _HEAD:
                first = time.perf_counter()
    return 1000 * (first - started), 1000 * (time.perf_counter() - started)


async def _measure(
    session: aiohttp.ClientSession, url: str, length: int, callers: int, times: int
) -> dict[str, list[tuple[float, float]]]:
    """The milliseconds of each way, in turn, so that noise of the machine disturbs all equally."""
    rng = random.Random(length)
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in _WAYS}
    for _ in range(times):
        texts = [speech_text(rng, length)[:length] for _ in range(callers)]
        for way, sounds in found.items():
            sounds += await asyncio.gather(*(_sounds(session, url, way, text) for text in texts))
    return found


def _cell(milliseconds: Sequence[float]) -> str:
    """The median and the 95th percentile, which is the highest of few."""
    last = max(0, math.ceil(0.95 * len(milliseconds)) - 1)
    return f"{statistics.median(milliseconds):,.0f}, {sorted(milliseconds)[last]:,.0f}"


async def _table(target: Target, lengths: list[int], callers: list[int], times: int) -> None:
    url, headers = f"{target.address}/audio/speech", {"Authorization": f"Bearer {target.key}"}
    print("| characters | callers | answer | first sound, p50 and p95 ms | last sound |\n|---|---|---|---|---|")
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as session:
        for way in _WAYS:
            await _sounds(session, url, way, "Good morning.")
        for length in lengths:
            for at_once in callers:
                for way, sounds in (await _measure(session, url, length, at_once, times)).items():
                    cells = " | ".join(map(_cell, zip(*sounds, strict=True)))
                    print(f"| {length:,} | {at_once} | {way} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--characters", type=int, nargs="+", default=[100, 5000], help="lengths of texts")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 8], help="callers at once")
    parser.add_argument("--times", type=int, default=20, help="calls of each caller")
    given = parser.parse_args()
    with own_product(variables={f"{PREFIX}EXTENSIONS": "speech_streaming"}) as target:
        uvloop.run(_table(target, given.characters, given.callers, given.times))


if __name__ == "__main__":
    main()
