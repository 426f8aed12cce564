"""The time to the first and to the last sound of a streamed and of a whole answer: python -m lab.probes.first_sound"""

import argparse
import asyncio
import random
import statistics
import time

import aiohttp
import uvloop

from frontend.config.reading import PREFIX
from scripts.benchmark.common.inputs import speech_text
from scripts.benchmark.common.target import Target, own_product

_VOICE = "ryan"
# Bytes of a WAV file's head: sound begins after it.
_HEAD = 44
_TEXTS = {"100": 100, "5,000": 5000}
_CALLERS = (1, 8)
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


async def _measure(session: aiohttp.ClientSession, url: str, way: str, length: int, callers: int, times: int) -> str:
    rng = random.Random(length)
    found: list[tuple[float, float]] = []

    async def caller() -> None:
        for _ in range(times):
            found.append(await _sounds(session, url, way, speech_text(rng, length)[:length]))

    await asyncio.gather(*(caller() for _ in range(callers)))
    # The highest of few values is their p95.
    cells = []
    for values in zip(*found, strict=True):
        last = max(0, round(0.95 * len(values)) - 1)
        cells.append(f"{statistics.median(values):,.0f}, {sorted(values)[last]:,.0f}")
    return " | ".join(cells)


async def _table(target: Target, times: int) -> None:
    url, headers = f"{target.address}/audio/speech", {"Authorization": f"Bearer {target.key}"}
    print("| characters | callers | answer | first sound, p50 and p95 ms | last sound |\n|---|---|---|---|---|")
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as session:
        for way in _WAYS:
            await _sounds(session, url, way, "Good morning.")
        for name, length in _TEXTS.items():
            # A long text takes as long as fifty short ones.
            rounds = times if length < 1000 else -(-times // 4)
            for callers in _CALLERS:
                for way in _WAYS:
                    cells = await _measure(session, url, way, length, callers, rounds)
                    print(f"| {name} | {callers} | {way} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="calls of each caller with a short text")
    times = parser.parse_args().times
    with own_product(variables={f"{PREFIX}EXTENSIONS": "speech_streaming"}) as target:
        uvloop.run(_table(target, times))


if __name__ == "__main__":
    main()
