"""Windows answered when each is done, on a simulated GPU: python -m lab.probes.done_windows

The dispatcher is the product's, on an event loop whose time jumps to the next timer. Triton is simulated with two
instances of Whisper in turbo's width that share a GPU. Seconds are those measured on an H200 (docs/benchmarks.md).
"""

import asyncio
import math
import selectors
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from random import Random
from typing import Any

import numpy as np

from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.operations.transcription.abilities import Abilities
from frontend.peers.frontends import FixedFrontends
from frontend.tritons.inference import Capacity, Inputs, Outputs, Trial
from scripts.benchmark.common.output import head, line

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
# How much longer a part takes while the other instance works too: both do 1.25 times as much as one.
_SHARED = 1.6
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


class _Nothing:
    """A selector without files: waiting only advances ``now`` (seconds)."""

    def __init__(self) -> None:
        self.now = 0.0

    def select(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("something is awaited that no timer will complete")
        self.now += timeout
        return []


class _VirtualLoop(asyncio.BaseEventLoop):
    """Starts at 0 s. It uses no file and no clock, so that runs are repeatable."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Nothing()

    def time(self) -> float:
        return self._selector.now

    def _process_events(self, event_list: list[Any]) -> None:
        """Do nothing: there are no events."""

    def _write_to_self(self) -> None:
        """Do nothing: the selector never waits."""


class _Whisper:
    """Triton with Whisper. With ``at_once``, batches answer all their windows together, each encoded as 30 s."""

    def __init__(self, *, at_once: bool) -> None:
        self._at_once, self._busy = at_once, 0
        self._waiting: deque[tuple[_Window, asyncio.Future[Outputs]]] = deque()
        self._arrived = asyncio.Event()
        self.batches: list[int] = []
        self._running = [asyncio.create_task(self._instance()) for _ in range(_INSTANCES)]

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        return set(models)

    async def try_out(self, model: str, trial: Trial) -> None:
        """Do nothing: the answers are always right."""

    async def broken_models(self, models: Sequence[str]) -> set[str]:
        return set()

    async def reload(self, model: str) -> None:
        """Do nothing: no model is ever broken."""

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
                self._busy += 1
                await self._execute(batch)
                self._busy -= 1

    async def _execute(self, batch: list[tuple[_Window, asyncio.Future[Outputs]]]) -> None:
        await self._compute(_REST)
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

    async def _compute(self, seconds: float) -> None:
        await asyncio.sleep(seconds * (_SHARED if self._busy > 1 else 1.0))

    async def _pass(self, windows: list[_Window], length: float) -> None:
        await self._compute(len(windows) * (_ENCODER[length] + length * (_FEATURES + _WORD_TIMES)))
        await self._decode(windows, length)

    async def _decode(self, windows: list[_Window], length: float) -> None:
        steps = 4 + max(window.tokens(length) for window in windows)
        await self._compute(steps * (_DECODER_STEP + len(windows) * _DECODER_WINDOW))


def _inputs(window: _Window) -> Inputs:
    return {"window": np.array(window, object)}


@dataclass(frozen=True)
class Result:
    """Good windows per second, the seconds of each of their calls, and windows an execution."""

    windows: float
    waits: list[float]
    batch: float

    def wait(self, share: float) -> float:
        return self.waits[int(share * len(self.waits))]


async def measure(callers: int, *, at_once: bool, direct: bool = False, bad: int = 0) -> Result:
    """Callers send one window after another, ``bad`` of them bad ones; ``direct`` is without the dispatcher."""
    whisper, dispatcher = _Whisper(at_once=at_once), Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    dispatcher.register_model(_MODEL, Work(_WHOLE))
    await dispatcher.add("pool/triton", whisper, {_MODEL: 0})
    loop, ends = asyncio.get_running_loop(), []
    counts = Abilities(_WHOLE, frozenset(), silence_seconds=math.inf if at_once else _SILENCE, step_seconds=2.0)
    warm = loop.time() + _MEASURED_SECONDS / 4

    async def caller(number: int) -> None:
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

    tasks = [asyncio.create_task(caller(number)) for number in range(callers)]
    await asyncio.sleep(warm + _MEASURED_SECONDS - loop.time())
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await dispatcher.close()
    await whisper.close()
    late = whisper.batches[len(whisper.batches) // 4 :]
    return Result(len(ends) / _MEASURED_SECONDS, sorted(ends), sum(late) / len(late))


def run(measured: Coroutine[Any, Any, Result]) -> Result:
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(measured)


def main() -> None:
    print(head(("callers", "", "windows a second", "p50, p99 s", "an execution", "of direct")))
    for callers in _CALLERS:
        direct = run(measure(callers, at_once=False, direct=True))
        for name, at_once in (("each when done", False), ("all at once, 30 s", True)):
            found = run(measure(callers, at_once=at_once))
            share = "" if at_once else f"{found.windows / direct.windows:.0%}"
            waits = f"{found.wait(0.5):.2f}, {found.wait(0.99):.2f}"
            row = (callers, name, f"{found.windows:.0f}", waits, f"{found.batch:.1f}", share)
            print(line(row), flush=True)
    print(head(("callers, one bad", "", "p50, p99 s of the good")))
    for callers in (16, 32, 64):
        for bad in (0, 1):
            for name, at_once in (("each when done", False), ("all at once, 30 s", True)):
                found = run(measure(callers, at_once=at_once, bad=bad))
                print(line((f"{callers}, {bad}", name, f"{found.wait(0.5):.2f}, {found.wait(0.99):.2f}")), flush=True)


if __name__ == "__main__":
    main()
