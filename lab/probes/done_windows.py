"""Windows answered when each is done, on a simulated GPU: python -m lab.probes.done_windows

The dispatcher is the product's, on an event loop whose time jumps to the next timer. Triton is simulated with two
instances of Whisper in turbo's width that share a GPU. Seconds are those measured on an H200 (docs/benchmarks.md).
"""

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from random import Random

import numpy as np

from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.operations.transcription.abilities import Abilities
from frontend.peers.frontends import FixedFrontends
from frontend.tritons.inference import Capacity, Inputs, Outputs
from lab.capacity.clock import run
from lab.capacity.machine import Machine
from lab.capacity.triton import Connection, SimulatedTriton, inputs_of
from scripts.benchmark.common.output import head, line
from scripts.capacity.fits import Line, ModelFit

_MODEL, _FREE = "model", 3
_CALLERS = (1, 4, 16, 32, 64, 128, 256)
_INSTANCES, _MAX_BATCH, _QUEUE_DELAY_SECONDS = 2, 16, 0.005
_WHOLE, _SILENCE, _STEP = 30.0, 6.0, 10.0
# Shares of short, middle and long windows with their least and most seconds.
_LENGTHS = ((0.5, 1.0, 8.0), (0.3, 8.0, 15.0), (0.2, 15.0, 29.0))
# Seconds of the encoder for a window, by its length; of features and word times for a second of it.
_ENCODER = {10.0: 0.0044, 20.0: 0.0111, 30.0: 0.0260}
_FEATURES, _WORD_TIMES = 0.004 / 30, 0.0084 / 30
# Seconds of a step of the decoder, and for each window in it.
_DECODER_STEP, _DECODER_WINDOW = 0.0017, 0.000015
_REST = 0.040
_TOKENS_PER_SECOND, _FALLBACKS = 4.0, 5
# Two instances do 1.25 times as much as one.
_SHARE = 0.8
_MEASURED_SECONDS = 60.0


@dataclass(eq=False)
class _Window:
    """A window of speech; one that is bad repeats itself at every temperature."""

    seconds: float
    is_bad: bool = False

    def tokens(self, encoded: float) -> float:
        if not self.is_bad:
            return self.seconds * _TOKENS_PER_SECOND
        return min(224.0, 24 + (10 if encoded < _WHOLE else 25) * self.seconds)


class _Whisper(Connection):
    """Triton with Whisper. With ``at_once``, batches answer all their windows together, each encoded as 30 s."""

    def __init__(self, *, at_once: bool) -> None:
        fit = ModelFit("", Line(1.0), 1.0, _MAX_BATCH, _QUEUE_DELAY_SECONDS, _INSTANCES)
        super().__init__(SimulatedTriton({_MODEL: fit}, Machine(1.0)), lambda seconds: asyncio.sleep(0))
        self._at_once, self._gpu = at_once, Machine(1.0)
        self._waiting: deque[tuple[_Window, asyncio.Future[Outputs]]] = deque()
        self._arrived = asyncio.Event()
        self.batches: list[int] = []
        self._running = [asyncio.create_task(self._instance()) for _ in range(_INSTANCES)]

    async def capacity(self, model: str) -> Capacity:
        return Capacity(_INSTANCES, _MAX_BATCH, gpu=True)

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        return await self.hear(inputs["window"].item())

    def hear(self, window: _Window) -> asyncio.Future[Outputs]:
        answer: asyncio.Future[Outputs] = asyncio.get_running_loop().create_future()
        self._waiting.append((window, answer))
        self._arrived.set()
        return answer

    async def close(self) -> None:
        for instance in self._running:
            instance.cancel()

    async def _instance(self) -> None:
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            if len(self._waiting) < _MAX_BATCH:
                await asyncio.sleep(_QUEUE_DELAY_SECONDS)
            batch = [self._waiting.popleft() for _ in range(min(_MAX_BATCH, len(self._waiting)))]
            if batch:
                self.batches.append(len(batch))
                await self._execute(batch)

    async def _execute(self, batch: list[tuple[_Window, asyncio.Future[Outputs]]]) -> None:
        await self._gpu.run(_REST, _SHARE)
        batch.sort(key=lambda each: self._length(each[0]))
        bad = []
        for length, group in groupby(batch, key=lambda each: self._length(each[0])):
            alike = list(group)
            await self._pass([window for window, _ in alike], length)
            for window, answer in alike:
                if window.is_bad:
                    bad.append((window, answer))
                elif not self._at_once:
                    answer.set_result({})
        if bad:
            again = [window for window, _ in bad]
            if short := [window for window in again if self._length(window) < _WHOLE]:
                await self._pass(short, _WHOLE)
            for _ in range(_FALLBACKS):
                await self._decode(again, _WHOLE)
        for _, answer in batch if self._at_once else bad:
            answer.set_result({})

    def _length(self, window: _Window) -> float:
        return _WHOLE if self._at_once else min(_WHOLE, math.ceil((window.seconds + _SILENCE) / _STEP) * _STEP)

    async def _pass(self, windows: list[_Window], length: float) -> None:
        await self._gpu.run(len(windows) * (_ENCODER[length] + length * (_FEATURES + _WORD_TIMES)), _SHARE)
        await self._decode(windows, length)

    async def _decode(self, windows: list[_Window], length: float) -> None:
        steps = 4 + max(window.tokens(length) for window in windows)
        await self._gpu.run(steps * (_DECODER_STEP + len(windows) * _DECODER_WINDOW), _SHARE)


def _inputs(window: _Window) -> Inputs:
    return {**inputs_of(0.0, 0.0), "window": np.array(window, object)}


@dataclass(frozen=True)
class Result:
    """Windows and their seconds of audio per second, seconds of each good call, and windows an execution."""

    windows: float
    audio: float
    waits: list[float]
    batch: float

    def wait(self, share: float) -> float:
        return self.waits[int(share * len(self.waits))]


async def measure(callers: int, *, at_once: bool, direct: bool = False, bad: int = 0) -> Result:
    """Callers send one window after another, ``bad`` of them bad ones; ``direct`` is without the dispatcher."""
    whisper, dispatcher = _Whisper(at_once=at_once), Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    dispatcher.register_model(_MODEL, Work(_WHOLE))
    await dispatcher.add("pool/triton", whisper, {_MODEL: 0})
    loop, ends, audio = asyncio.get_running_loop(), [], 0.0
    counts = Abilities(_WHOLE, frozenset(), silence_seconds=math.inf if at_once else _SILENCE, step_seconds=2.0)
    warm = loop.time() + _MEASURED_SECONDS / 4

    async def caller(number: int) -> None:
        nonlocal audio
        random = Random(number)
        while True:
            _, least, most = random.choices(_LENGTHS, [share for share, _, _ in _LENGTHS])[0]
            window, sent = _Window(random.uniform(least, most), number < bad), loop.time()
            if direct:
                await whisper.hear(window)
            else:
                context = RequestContext(f"key {number}", _FREE, None, loop.time() + 1e6)
                inputs = partial(_inputs, window)
                await dispatcher.infer(_MODEL, inputs, [], context, counts.work([window.seconds]))
            if loop.time() > warm and not window.is_bad:
                ends.append(loop.time() - sent)
                audio += window.seconds

    tasks = [asyncio.create_task(caller(number)) for number in range(callers)]
    await asyncio.sleep(warm + _MEASURED_SECONDS - loop.time())
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await dispatcher.close()
    await whisper.close()
    late = whisper.batches[len(whisper.batches) // 4 :]
    rates = (len(ends) / _MEASURED_SECONDS, audio / _MEASURED_SECONDS)
    return Result(*rates, sorted(ends), sum(late) / len(late))


def main() -> None:
    print(head(("callers", "", "windows a second", "times real time", "p50, p99 s", "an execution", "of direct")))
    for callers in _CALLERS:
        direct = run(measure(callers, at_once=False, direct=True))
        for name, at_once in (("each when done", False), ("all at once, 30 s", True)):
            found = run(measure(callers, at_once=at_once))
            share = "" if at_once else f"{found.windows / direct.windows:.0%}"
            waits = f"{found.wait(0.5):.2f}, {found.wait(0.99):.2f}"
            row = (callers, name, f"{found.windows:.0f}", f"{found.audio:.0f}", waits, f"{found.batch:.1f}", share)
            print(line(row), flush=True)
    print(head(("callers, one bad", "", "p50, p99 s of the good")))
    for callers in (16, 32, 64):
        for bad in (0, 1):
            for name, at_once in (("each when done", False), ("all at once, 30 s", True)):
                found = run(measure(callers, at_once=at_once, bad=bad))
                print(line((f"{callers}, {bad}", name, f"{found.wait(0.5):.2f}, {found.wait(0.99):.2f}")), flush=True)


if __name__ == "__main__":
    main()
