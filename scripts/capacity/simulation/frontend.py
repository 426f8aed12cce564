"""A frontend: the product's dispatcher and queues, and in the place of its pipelines' work the time that it takes."""

import asyncio
import functools
from collections.abc import Sequence
from typing import Any, cast

from frontend.catalogue.models import SPEECH, TRANSCRIPTIONS
from frontend.config.settings import Settings
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.model_queue import Bounds, ModelQueue, Turn
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.shares import FixedShares
from frontend.dispatch.window import Work
from frontend.operations.transcription.pipeline import Abilities
from frontend.processes.gather import gather_or_cancel
from frontend.text.tokens import Ids, pack, work
from scripts.capacity.fits import Fits, Line, ModelFit
from scripts.capacity.requests import Request
from scripts.capacity.simulation.beats import Board, BoardShares
from scripts.capacity.simulation.connection import Connection, inputs_of
from scripts.capacity.simulation.machine import Machine
from scripts.capacity.simulation.triton import SimulatedTriton

# As operations/packed_model.py and operations/speech/pipeline.py have them: a block of the graphs, and phoneme ids.
_BLOCK = 512
_SENTENCES = Work(least=100, most=1600)


def work_of(fit: ModelFit, settings: Settings) -> Work:
    """How the product counts and cuts the work of a model."""
    if fit.window_seconds:
        return Abilities(fit.window_seconds).work
    return Work(_BLOCK, settings.token_budget, divisible=True) if fit.unit == "tokens" else _SENTENCES


class Frontend:
    """One of those that share ``board``, or the only one; made inside the event loop that uses it."""

    def __init__(
        self, name: str, settings: Settings, fits: Fits, machine: Machine, board: Board | None = None, zone: str = ""
    ) -> None:
        self.name, self.zone, self.machine = name, zone, machine
        self._settings, self._fits = settings, fits
        self._shares: BoardShares | None = None
        if board is not None:
            self._shares = BoardShares(
                board, name, lambda: self.dispatcher.tells(), lambda: self.dispatcher.share(), zone
            )
        rules = Rules(settings.queue_age_seconds, hold_seconds=settings.queue_hold_seconds)
        bounds = Bounds(settings.queue_per_key, settings.queue_per_tier)
        self.dispatcher = Dispatcher(
            rules, bounds, self._shares or FixedShares(1, {}), None, settings.request_seconds, zone
        )
        self._audio = self.dispatcher.fix("audio", settings.audio_workers)
        self._text = self.dispatcher.fix("text", settings.text_workers)
        self._threads = self.dispatcher.fix("threads", settings.threads)
        self._event_loop = asyncio.Lock()
        for model, fit in fits.models.items():
            self.dispatcher.declare(model, work_of(fit, settings))

    async def start(self) -> None:
        """Join the others."""
        if self._shares is not None:
            await self._shares.start()

    async def close(self) -> None:
        """Leave the others; what is under way ends."""
        await self.dispatcher.close()
        if self._shares is not None:
            await self._shares.close()

    async def found(self, name: str, triton: SimulatedTriton, zone: str = "") -> None:
        """Calls go to this Triton too, once its models were asked for."""
        models = dict.fromkeys(await triton.models(), 0)
        await self.dispatcher.add(name, Connection(triton, self._on_event_loop), models, zone)

    def die(self) -> None:
        """Its machine is lost: the others hear no more of it."""
        if self._shares is not None:
            self._shares.die()

    async def answer(self, request: Request, key: int, tier: int) -> None:
        """Return when the answer to a key of a tier, 1 to 3, would go out; raises the product's own errors."""
        fit = self._fits.requests[request.operation]
        # Half of what the event loop does is for the request, the other half for its calls.
        half = fit.loop.seconds(request.units, request.count) / 4
        await self._on_event_loop(half)
        turn = Turn(key, tier, None, 0.0)
        turn.restart(self._settings.request_seconds)
        if request.operation == SPEECH:
            await self._speak(request, turn)
        elif request.operation == TRANSCRIPTIONS:
            await self._transcribe(request, turn)
        else:
            await self._read(request, turn)
        await self._on_event_loop(half)
        await asyncio.sleep(fit.wire)

    async def _read(self, request: Request, turn: Turn) -> None:
        """As operations/packed_model.py: tokenize, cut into pieces, call."""
        await self._beside(self._threads, self._fits.requests[request.operation].threads, request, turn)
        # Of ids, only how many there are is asked.
        texts = cast(list[Ids], [range(int(length)) for length in request.parts])
        pieces = pack(texts, self.dispatcher.piece(request.model))
        await self._infer(request, [work(piece) for piece in pieces], turn, self._settings.calls_at_once)

    async def _speak(self, request: Request, turn: Turn) -> None:
        """As operations/speech/pipeline.py: the first sentence is spoken while the others are phonemized."""
        halves = [half for half in (request.parts, request.rest) if half]
        await gather_or_cancel(self._say(request, half, len(halves), turn) for half in halves)
        await self._beside(self._threads, self._fits.requests[request.operation].threads, request, turn)

    async def _say(self, request: Request, sentences: Sequence[float], halves: int, turn: Turn) -> None:
        workers = self._fits.requests[request.operation].workers
        await self._beside(self._text, workers, request, turn, part=1 / halves)
        longest_first = sorted(sentences, reverse=True)
        await self._infer(request, longest_first, turn, self._settings.calls_at_once, part=1 / halves)

    async def _transcribe(self, request: Request, turn: Turn) -> None:
        """As operations/transcription/pipeline.py: decode and cut, windows, put together."""
        fit, settings = self._fits.requests[request.operation], self._settings
        await self._beside(self._audio, fit.workers, request, turn)
        turn.extend(settings.audio_second_seconds * request.units)
        await self._infer(request, request.parts, turn, settings.windows_at_once)
        await self._beside(self._threads, fit.threads, request, turn)

    async def _infer(
        self, request: Request, costs: Sequence[float], turn: Turn, at_once: int, part: float = 1.0
    ) -> None:
        """Calls of so much work each, which are a part of a request's; refused where they would end too late."""
        fit, model = self._fits.requests[request.operation], request.model
        self.dispatcher.queue(model).refuse_late(turn, sum(costs), at_once)
        loop = fit.loop.seconds(request.units, request.count) / 2 * part / len(costs)
        calls = (
            self.dispatcher.infer(model, functools.partial(inputs_of, cost, loop), [], turn, cost) for cost in costs
        )
        await gather_or_cancel(calls, lambda: at_once)

    async def _beside(self, queue: ModelQueue, line: Line, request: Request, turn: Turn, part: float = 1.0) -> None:
        """A part of the work of processes or threads, when it is the caller's turn."""
        seconds = line.seconds(request.units, request.count) * part

        async def busy(_: str) -> Any:
            await self.machine.run(seconds)

        if seconds > 0:
            await queue.run(turn, busy)

    async def _on_event_loop(self, seconds: float) -> None:
        async with self._event_loop:
            await self.machine.run(seconds)
