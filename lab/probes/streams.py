"""When callers have the first and the last word of a long recording: python -m lab.probes.streams

Callers send ten minutes of people's speech at once, and read it as events or as a whole answer, in turn.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Sequence
from itertools import pairwise

import aiohttp

from frontend.catalogue.extensions import TRANSCRIPT_STREAMING
from frontend.config.reading import PREFIX
from lab.peers.recorded import long_recording
from scripts.benchmark.common.output import head, line
from scripts.benchmark.common.target import Target, own_product

_HEAD = ("callers", "answer", "first word after s", "last word after s", "longest wait between two parts, s")
_WARM_UP_SECONDS = 60.0
# When each event arrived, in seconds after the request, and the text.
_Heard = tuple[list[float], str]


async def _ask(session: aiohttp.ClientSession, target: Target, file: bytes, *, streams: bool) -> _Heard:
    form = aiohttp.FormData({"model": "stt-1", "stream": str(streams).lower()}, default_to_multipart=True)
    form.add_field("file", file, filename="a.wav")
    begun, times = time.perf_counter(), []
    async with session.post(f"{target.address}/audio/transcriptions", data=form) as response:
        response.raise_for_status()
        answer = b""
        async for piece in response.content:
            if piece.strip():
                times.append(time.perf_counter() - begun)
                answer = piece
    # The last event has the whole text too.
    return times, json.loads(answer.removeprefix(b"data: "))["text"]


async def _measure(target: Target, seconds: float, callers: Sequence[int], rounds: int) -> None:
    file, short = long_recording("en", seconds).file, long_recording("en", _WARM_UP_SECONDS).file
    # Eight callers may wait for minutes on a busy machine.
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {target.key}"}, timeout=timeout) as session:
        await _ask(session, target, short, streams=True)
        print(head(_HEAD))
        for count in callers:
            heard: dict[bool, list[_Heard]] = {True: [], False: []}
            for _ in range(rounds):
                for streams, answers in heard.items():
                    asked = (_ask(session, target, file, streams=streams) for _ in range(count))
                    answers += await asyncio.gather(*asked)
            for streams, answers in heard.items():
                print(_row(count, [times for times, _ in answers], streams=streams), flush=True)
            # Windows that run in other batches are rounded otherwise, which may change a word.
            print(f"{len({text for answers in heard.values() for _, text in answers})} different texts")


def _row(callers: int, answers: Sequence[Sequence[float]], *, streams: bool) -> str:
    first, last = ([times[place] for times in answers] for place in (0, -1))
    waits = [max((after - before for before, after in pairwise(times)), default=0.0) for times in answers]
    name = "events" if streams else "whole"
    return line((callers, name, _span(first), _span(last), _span(waits) if streams else ""))


def _span(values: Sequence[float]) -> str:
    """Median, least and most."""
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="of the recording")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    # On a busy machine, the callers together may need more time than requests have.
    variables = {f"{PREFIX}EXTENSIONS": TRANSCRIPT_STREAMING, f"{PREFIX}REQUEST_SECONDS": "1800"}
    with own_product(variables=variables) as started:
        asyncio.run(_measure(started, given.seconds, given.callers, given.rounds))


if __name__ == "__main__":
    main()
