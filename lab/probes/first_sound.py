"""The time to the first and to the last sound of a streamed and of a whole answer: python -m lab.probes.first_sound

Also how fast speech is made: seconds of sound in a second with all callers together, and processor time for a second
of sound. Without an address it starts the product; one that runs needs the extension speech_streaming.
"""

import argparse
import asyncio
import math
import random
import statistics
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import aiohttp
import psutil
import uvloop

from client.api import address
from frontend.config.reading import PREFIX
from scripts.benchmark.common.inputs import speech_text
from scripts.benchmark.common.target import Target, own_product

# Bytes of a WAV file's head, after which sound begins, and where it has the bytes per second.
_HEAD = 44
_BYTES_A_SECOND = slice(28, 32)
_WAYS = {"streamed": {"stream_format": "audio"}, "whole": {}}


@dataclass(frozen=True)
class Sound:
    """Milliseconds until the first and until the last sound, and the sound's length in seconds."""

    first: float
    last: float
    seconds: float


@dataclass(frozen=True)
class Round:
    """One answer for each caller, the seconds until all had theirs, and seconds of processors meanwhile."""

    sounds: Sequence[Sound]
    seconds: float
    processor: float

    @property
    def sound(self) -> float:
        return sum(each.seconds for each in self.sounds)


@dataclass(frozen=True)
class Speech:
    """A voice of a product, and its language."""

    session: aiohttp.ClientSession
    url: str
    voice: str
    language: str

    async def sound(self, way: str, text: str) -> Sound:
        body = {"voice": self.voice, "response_format": "wav", "input": text, **_WAYS[way]}
        started, first, file = time.perf_counter(), 0.0, bytearray()
        async with self.session.post(f"{self.url}/audio/speech", json=body) as answer:
            answer.raise_for_status()
            async for piece in answer.content.iter_any():
                file += piece
                if not first and len(file) > _HEAD:
                    first = time.perf_counter()
        last = time.perf_counter()
        seconds = (len(file) - _HEAD) / int.from_bytes(file[_BYTES_A_SECOND], "little")
        return Sound(1000 * (first - started), 1000 * (last - started), seconds)

    async def rounds(self, length: int, callers: int, times: int) -> dict[str, list[Round]]:
        """The rounds of each way, in turn, so that noise of the machine disturbs all equally."""
        rng = random.Random(length)
        found: dict[str, list[Round]] = {way: [] for way in _WAYS}
        for _ in range(times):
            texts = [speech_text(rng, length, self.language)[:length] for _ in range(callers)]
            for way, rounds in found.items():
                began, used = time.perf_counter(), _processor_seconds()
                sounds = await asyncio.gather(*(self.sound(way, text) for text in texts))
                rounds.append(Round(sounds, time.perf_counter() - began, _processor_seconds() - used))
        return found


async def _voices(url: str) -> dict[str, str]:
    """The language of each voice that the product at an address with /v1 serves."""
    offer = url.removesuffix("/v1") + "/offer.json"
    async with aiohttp.ClientSession() as session, session.get(offer) as response:
        response.raise_for_status()
        return {voice["name"]: voice["language"] for voice in (await response.json())["voices"]}


def _processor_seconds() -> float:
    """What the product has used, if it was started here."""
    return sum(sum(child.cpu_times()[:2]) for child in psutil.Process().children(recursive=True))


def _cells(rounds: Sequence[Round]) -> list[str]:
    sounds = [sound for each in rounds for sound in each.sounds]
    made, used = sum(each.sound for each in rounds), sum(each.processor for each in rounds)
    return [
        _times([sound.first for sound in sounds]),
        _times([sound.last for sound in sounds]),
        f"{statistics.median(each.sound / each.seconds for each in rounds):.1f}",
        f"{used / made:.3f}" if used else "",
    ]


def _times(milliseconds: Sequence[float]) -> str:
    """The median and the 95th percentile, which is the highest of few."""
    last = max(0, math.ceil(0.95 * len(milliseconds)) - 1)
    return f"{statistics.median(milliseconds):,.0f}, {sorted(milliseconds)[last]:,.0f}"


async def _table(target: Target, given: argparse.Namespace) -> None:
    headers, languages = {"Authorization": f"Bearer {target.key}"}, await _voices(target.address)
    last = "last sound | times real time | processor s for a s of sound"
    print(f"| voice | characters | callers | answer | first sound, p50 and p95 ms | {last} |\n{'|---' * 8}|")
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as session:
        for voice in given.voices:
            speech = Speech(session, target.address, voice, languages[voice])
            for way in _WAYS:
                await speech.sound(way, "Good morning.")
            for length in given.characters:
                for callers in given.callers:
                    for way, rounds in (await speech.rounds(length, callers, given.times)).items():
                        cells = " | ".join([voice, f"{length:,}", str(callers), way, *_cells(rounds)])
                        print(f"| {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?", help="address of a running product; default: start one")
    parser.add_argument("key", nargs="?", default="", help="a key of it")
    parser.add_argument("--voices", nargs="+", default=["ryan"], help="names of voices")
    parser.add_argument("--characters", type=int, nargs="+", default=[100, 5000], help="lengths of texts")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 8], help="callers at once")
    parser.add_argument("--times", type=int, default=20, help="calls of each caller")
    given = parser.parse_args()
    running = nullcontext(Target(address(given.url), given.key)) if given.url else None
    with running or own_product(variables={f"{PREFIX}EXTENSIONS": "speech_streaming"}) as target:
        uvloop.run(_table(target, given))


if __name__ == "__main__":
    main()
