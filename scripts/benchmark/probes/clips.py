"""Short recordings on a Whisper of turbo's size: python -m scripts.benchmark.probes.clips

One caller sends clips of 5 to 15 s one after the other, first to an idle server, then while a file of ten minutes is
being transcribed. Then a clip of 5 s is sent to the same model with windows of at least 30 s and of at least 5 s: once
with the answer of 40 tokens that all clips have, and once with 20, which is what a fast speaker says in 5 s.
"""

import asyncio
from pathlib import Path
from statistics import median

from scripts.benchmark.common import load
from scripts.benchmark.common.inputs import Call, clip
from scripts.benchmark.common.summary import Spread, summary
from scripts.benchmark.common.target import Target, own_product
from scripts.benchmark.lookalikes import whisper
from scripts.benchmark.lookalikes.repository import Checkpoints, put_whisper

_RUNS, _CLIPS = 5, 4
_FOLDER = Path("build/peers")
_SHORT_TOKENS = 20


def _call(seed: int, shortest: float, longest: float) -> Call:
    content, seconds = clip(seed, shortest, longest)
    return Call("/audio/transcriptions", seconds, file=content, fields=(("model", "stt-1"), ("language", "en")))


async def _p95(client: load.Client, clips: list[Call]) -> float:
    its = summary(await load.each_once(client, clips, 1))
    assert not its.errors, f"answers with {its.errors}"
    return its.percentile("p95")


async def beside(target: Target) -> None:
    """Print the p95 on an idle server and beside the long file, which take turns."""
    clips, long = [_call(seed, 5, 15) for seed in range(_CLIPS)], _call(0, 600, 600)
    idle, busy = [], []
    async with load.connected(target.address, target.key) as client:
        for _ in range(_RUNS):
            await _p95(client, clips[:1])
            idle.append(await _p95(client, clips))
            under_way = asyncio.create_task(client.send(long, 0.0))
            # Its sound is decoded and cut before the first window is on its way.
            await asyncio.sleep(10)
            busy.append(await _p95(client, clips))
            assert not under_way.done(), "the long file ended before the clips did"
            # A caller who hangs up frees the model at once.
            under_way.cancel()
            await asyncio.gather(under_way, return_exceptions=True)
    print(f"p95 of clips: idle {median(idle):.2f} s, beside ten minutes {median(busy):.2f} s")
    print(f"that is {Spread.of_ratios(busy, idle):.2f} times", flush=True)


async def seconds_of_a_short_clip(target: Target) -> float:
    async with load.connected(target.address, target.key) as client:
        return median([await _p95(client, [_call(1, 5, 5)]) for _ in range(_RUNS + 1)][1:])


if __name__ == "__main__":
    _FOLDER.mkdir(parents=True, exist_ok=True)
    for tokens in (whisper.TOKENS, _SHORT_TOKENS):
        for least in (30.0, 5.0):
            put_whisper(_FOLDER / "int8", Checkpoints(_FOLDER).whisper(tokens, least))
            with own_product(_FOLDER / "int8") as started:
                if (tokens, least) == (whisper.TOKENS, 30.0):
                    asyncio.run(beside(started))
                took = asyncio.run(seconds_of_a_short_clip(started))
            print(f"a clip of 5 s with {tokens} tokens in windows of {least:.0f} s: {took:.2f} s", flush=True)
