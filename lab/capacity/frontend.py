"""A simulated frontend: the product's dispatcher and queues, and pipelines that only take time."""

import asyncio
import functools
from collections.abc import Sequence
from typing import Any, cast

from frontend.catalogue.models import SPEECH, TRANSCRIPTIONS
from frontend.concurrency.gather import gather_or_cancel
from frontend.config.settings import Settings
from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds, ModelQueue
from frontend.dispatch.scheduler import Rules
from frontend.text.phonemes import MOST_IDS
from frontend.text.tokens import Ids, pack, work
from lab.capacity.arrivals import Request
from lab.capacity.beats import Board, BoardFrontends
from lab.capacity.machine import Machine
from lab.capacity.triton import Connection, SimulatedTriton, inputs_of
from scripts.capacity.fits import Fits, Line, ModelFit

# As in operations/packed_model.py and operations/speech/pipeline.py: tokens per block, and most phoneme ids.
_BLOCK = 768
_SENTENCES = Work(MOST_IDS)


def work_of(fit: ModelFit, settings: Settings) -> Work:
    """The product's unit and split of a model's work."""
    if fit.window_seconds:
        return Work(fit.window_seconds)
    return Work(_BLOCK, settings.token_budget, divisible=True) if fit.unit == "tokens" else _SENTENCES


class Frontend:
    """A frontend with default settings, which shares ``board``. It must be made inside its event loop."""

    def __init__(self, name: str, fits: Fits, machine: Machine, board: Board, zone: str) -> None:
        self._settings = settings = Settings()
        self._machine, self._fits = machine, fits
        self._frontends = BoardFrontends(
            board, name, lambda: self.dispatcher.snapshot(), lambda: self.dispatcher.share()
        )
        rules = Rules(settings.queue_age_seconds, hold_seconds=settings.queue_hold_seconds)
        bounds = Bounds(settings.queue_per_key, settings.queue_per_tier)
        self.dispatcher = Dispatcher(rules, bounds, self._frontends, None, settings.request_seconds, zone)
        self._audio = self.dispatcher.add_local_queue("audio", settings.audio_workers)
        self._text = self.dispatcher.add_local_queue("text", settings.text_workers)
        self._threads = self.dispatcher.add_local_queue("threads", settings.threads)
        self._event_loop = asyncio.Lock()
        for model, fit in fits.models.items():
            self.dispatcher.register_model(model, work_of(fit, settings))

    async def start(self) -> None:
        """Join the other frontends."""
        await self._frontends.start()

    async def close(self) -> None:
        """Leave the other frontends after the calls in flight."""
        await self.dispatcher.close()
        await self._frontends.close()

    async def found(self, name: str, triton: SimulatedTriton, zone: str) -> None:
        await self.dispatcher.add(name, Connection(triton, self._on_event_loop), dict.fromkeys(triton.fits, 0), zone)

    async def answer(self, request: Request, key: int, tier: int) -> None:
        """Handle a request by a key of a tier (1 to 3); raises the product's errors."""
        fit = self._fits.requests[request.operation]
        # Half of the event loop's time is for the request, the other half for its calls.
        half = fit.loop.seconds(request.units, len(request.parts)) / 4
        await self._on_event_loop(half)
        context = RequestContext(key, tier, None, 0.0)
        context.restart(self._settings.request_seconds)
        if request.operation == SPEECH:
            await self._speak(request, context)
        elif request.operation == TRANSCRIPTIONS:
            await self._transcribe(request, context)
        else:
            await self._read(request, context)
        await self._on_event_loop(half)
        await asyncio.sleep(fit.wire)

    async def _read(self, request: Request, context: RequestContext) -> None:
        """As operations/packed_model.py: tokenize, split, call."""
        await self._compute(self._threads, self._fits.requests[request.operation].threads, request, context)
        # Only the number of ids matters.
        texts = cast(list[Ids], [range(int(length)) for length in request.parts])
        pieces = pack(texts, self.dispatcher.batch(request.model))
        await self._infer(request, [work(piece) for piece in pieces], context, self._settings.calls_at_once)

    async def _speak(self, request: Request, context: RequestContext) -> None:
        """As operations/speech/pipeline.py: phonemize, say the sentences in parallel, encode."""
        fit = self._fits.requests[request.operation]
        await self._compute(self._text, fit.workers, request, context)
        longest_first = sorted(request.parts, reverse=True)
        await self._infer(request, longest_first, context, self._settings.calls_at_once)
        await self._compute(self._threads, fit.threads, request, context)

    async def _transcribe(self, request: Request, context: RequestContext) -> None:
        """As operations/transcription/pipeline.py: decode and cut, call, join."""
        fit, settings = self._fits.requests[request.operation], self._settings
        await self._compute(self._audio, fit.workers, request, context)
        context.extend(settings.audio_second_seconds * request.units)
        await self._infer(request, request.parts, context, self.dispatcher.queue(request.model).bound)
        await self._compute(self._threads, fit.threads, request, context)

    async def _infer(self, request: Request, costs: Sequence[float], context: RequestContext, at_once: int) -> None:
        """Make calls of these costs; refuse them if they would end too late."""
        fit, model = self._fits.requests[request.operation], request.model
        self.dispatcher.queue(model).refuse_late(context, sum(costs), at_once)
        loop = fit.loop.seconds(request.units, len(request.parts)) / 2 / len(costs)
        calls = (
            self.dispatcher.infer(model, functools.partial(inputs_of, cost, loop), [], context, cost) for cost in costs
        )
        await gather_or_cancel(calls, lambda: at_once)

    async def _compute(self, queue: ModelQueue, line: Line, request: Request, context: RequestContext) -> None:
        """Do the work of processes or threads, in the order of their queue."""
        seconds = line.seconds(request.units, len(request.parts))

        async def busy(_: str) -> Any:
            await self._machine.run(seconds)

        if seconds > 0:
            await queue.run(context, busy)

    async def _on_event_loop(self, seconds: float) -> None:
        async with self._event_loop:
            await self._machine.run(seconds)
