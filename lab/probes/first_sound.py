"""The time to the first and to the last sound of a streamed and of a whole answer: python -m lab.probes.first_sound

``--piper URL`` asks Piper's own server instead, which streams on a path of its own.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
import uvloop

from frontend.config.reading import PREFIX
from scripts.benchmark.common.inputs import speech_text
from scripts.benchmark.common.target import own_product

_VOICE = "ryan"
# Bytes of a WAV file's head: sound begins after it.
_HEAD = 44
_TEXTS = {"100": 100, "5,000": 5000}
_CALLERS = (1, 8)


@dataclass(frozen=True)
class Way:
    """How a server is asked for an answer, whole or streamed."""

    name: str
    url: str
    body: Mapping[str, str]
    text_field: str = "input"


async def _sounds(session: aiohttp.ClientSession, way: Way, text: str) -> tuple[float, float]:
    """Milliseconds until the first and until the last sound."""
    started, size, first = time.perf_counter(), 0, 0.0
    async with session.post(way.url, json={**way.body, way.text_field: text}) as answer:
        answer.raise_for_status()
        async for piece in answer.content.iter_any():
            size += len(piece)
            if not first and size > _HEAD:
                first = time.perf_counter()
    return 1000 * (first - started), 1000 * (time.perf_counter() - started)


async def _measure(session: aiohttp.ClientSession, way: Way, length: int, callers: int, times: int) -> str:
    rng = random.Random(length)
    found: list[tuple[float, float]] = []

    async def caller() -> None:
        for _ in range(times):
            found.append(await _sounds(session, way, speech_text(rng, length)[:length]))

    await asyncio.gather(*(caller() for _ in range(callers)))
    # The highest of few values is their p95.
    cells = []
    for values in zip(*found, strict=True):
        last = max(0, round(0.95 * len(values)) - 1)
        cells.append(f"{statistics.median(values):,.0f}, {sorted(values)[last]:,.0f}")
    return " | ".join(cells)


async def _table(ways: list[Way], key: str, times: int) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    print("| characters | callers | answer | first sound, p50 and p95 ms | last sound |\n|---|---|---|---|---|")
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as session:
        for way in ways:
            for _ in range(3):
                await _sounds(session, way, "Good morning.")
        for name, length in _TEXTS.items():
            # A long text takes as long as fifty short ones.
            rounds = times if length < 1000 else -(-times // 4)
            for callers in _CALLERS:
                for way in ways:
                    cells = await _measure(session, way, length, callers, rounds)
                    print(f"| {name} | {callers} | {way.name} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="calls of each caller with a short text")
    parser.add_argument("--piper", default="", help="address of Piper's server")
    given = parser.parse_args()
    if given.piper:
        ways = [Way("Piper, whole", f"{given.piper}/synthesize", {}, "text")]
        uvloop.run(_table(ways, "", given.times))
        return
    with own_product(variables={f"{PREFIX}EXTENSIONS": "speech_streaming"}) as target:
        url, body = f"{target.address}/audio/speech", {"voice": _VOICE, "response_format": "wav"}
        ways = [Way("streamed", url, {**body, "stream_format": "audio"}), Way("whole", url, body)]
        uvloop.run(_table(ways, target.key, given.times))


if __name__ == "__main__":
    main()
