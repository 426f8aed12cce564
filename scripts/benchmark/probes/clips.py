"""Short recordings on a Whisper of turbo's size: beside a long one, and in short windows.

python -m scripts.benchmark.probes.clips

One caller sends clips of 5 to 15 s one after the other, first to an idle server, then while a file of ten minutes is
being transcribed. Then a clip of 5 s is sent to the same model with windows of at least 30 s and of at least 5 s: once
with the answer of 40 tokens that all clips have, and once with 20, which is what a fast speaker says in 5 s.
"""

import argparse
import asyncio
import sys
from pathlib import Path
from statistics import median

from scripts.benchmark.common import load
from scripts.benchmark.common.inputs import Call, clip
from scripts.benchmark.common.summary import Spread, summary
from scripts.benchmark.common.target import Target, own_product
from scripts.benchmark.lookalikes import whisper
from scripts.benchmark.lookalikes.repository import Checkpoints, put_whisper

_FILE_SECONDS = 600.0
_SHORT_SECONDS = 5.0
_SHORT_TOKENS = 20


def _call(seed: int, shortest: float, longest: float) -> Call:
    content, seconds = clip(seed, shortest, longest)
    fields = (("model", "stt-1"), ("language", "en"))
    return Call("/audio/transcriptions", seconds, file=content, fields=fields)


def p95(samples: list[load.Sample]) -> float:
    """Seconds that 95 of 100 calls took at most; ``SystemExit`` if any failed."""
    its = summary(samples)
    if its.errors:
        raise SystemExit(f"answers with {its.errors}")
    return its.percentile("p95")


async def beside(target: Target, runs: int, count: int) -> tuple[list[float], list[float]]:
    """The p95 of every run, on an idle server and beside the long file, by turns."""
    clips, long = [_call(seed, 5, 15) for seed in range(count)], _call(0, _FILE_SECONDS, _FILE_SECONDS)
    idle, busy = [], []
    async with load.connected(target.address, target.key) as client:
        await load.each_once(client, clips[:1], 1)
        for _ in range(runs):
            idle.append(p95(await load.each_once(client, clips, 1)))
            under_way = asyncio.create_task(load.each_once(client, [long], 1))
            # Its sound is decoded and cut before the first window is on its way.
            await asyncio.sleep(10)
            busy.append(p95(await load.each_once(client, clips, 1)))
            if under_way.done():
                raise SystemExit("the long file ended before the clips did")
            # A caller who hangs up frees the model at once.
            under_way.cancel()
            await asyncio.gather(under_way, return_exceptions=True)
            await load.each_once(client, clips[:1], 1)
    return idle, busy


async def seconds_of_a_short_clip(target: Target, runs: int) -> list[float]:
    async with load.connected(target.address, target.key) as client:
        call = _call(1, _SHORT_SECONDS, _SHORT_SECONDS)
        samples = [(await load.each_once(client, [call], 1))[0] for _ in range(runs + 1)]
    return [sample.seconds for sample in samples[1:]]


def _tell_beside(idle: list[float], busy: list[float]) -> None:
    print(f"p95 of clips: idle {median(idle):.2f} s, beside ten minutes {median(busy):.2f} s")
    print(f"that is {Spread.of_ratios(busy, idle):.2f} times", flush=True)


def _tell_short(tokens: int, took: dict[float, list[float]]) -> None:
    long, short = (median(took[least]) for least in (30.0, 5.0))
    print(f"a clip of 5 s with {tokens} tokens: {long:.2f} s in windows of 30 s, {short:.2f} s in windows of 5 s")
    print(f"that is {long / short:.2f} times as fast", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Short recordings on a Whisper of turbo's size.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--clips", type=int, default=8, help="clips in each of the runs beside the long file")
    parser.add_argument("--folder", type=Path, default=Path("build/peers"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    checkpoints, repository = Checkpoints(arguments.folder), arguments.folder / "int8"
    for tokens in (whisper.TOKENS, _SHORT_TOKENS):
        took = {}
        for least in (30.0, 5.0):
            put_whisper(repository, checkpoints.whisper(tokens), least)
            with own_product(repository) as target:
                if (tokens, least) == (whisper.TOKENS, 30.0):
                    _tell_beside(*asyncio.run(beside(target, arguments.runs, arguments.clips)))
                took[least] = asyncio.run(seconds_of_a_short_clip(target, arguments.runs))
        _tell_short(tokens, took)
    return 0


if __name__ == "__main__":
    sys.exit(main())
