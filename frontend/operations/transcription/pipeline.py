"""File to transcript: decode and cut in a worker, transcribe windows on Triton, join them in order."""

import json
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frontend.access.throttles import UnbilledWorkThrottle, WorkTimer
from frontend.audio.decode import (
    BeyondLimitsError,
    DamagedAudioError,
    TooLongError,
    UnknownCodecError,
    UnknownFormatError,
)
from frontend.audio.prepare import SAMPLE_BYTES, Prepared, SpokenWindow, WindowRules, prepare, room_for
from frontend.audio.sniff import ACCEPTED, recognise
from frontend.catalogue.models import TRANSCRIPTIONS
from frontend.config.settings import Settings
from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.errors import InvalidRequest, TooLarge, UnsupportedMedia
from frontend.http.memory import MemoryReservation
from frontend.operations.transcription.assembly import WORDS, assemble
from frontend.operations.transcription.languages import token_code
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest, Word
from frontend.processes.gather import gather_or_cancel
from frontend.processes.offload import TaskKilledError
from frontend.processes.shared_memory import SharedBytes
from frontend.tritons.inference import Inputs
from frontend.tritons.triton import Arrays, bad_answer, text_tensor
from frontend.usage.bill import Bill, Reserves

INPUTS = ("audio", "language", "prompt", "temperature")
_OF_THE_WINDOW = ("language", "avg_logprob", "no_speech_prob")
_NOT_DECODED = "the audio could not be decoded"


@dataclass(frozen=True)
class Abilities:
    """A Whisper model's window in seconds, to which shorter ones are padded, and its languages."""

    window_seconds: float
    languages: Set[str] = frozenset()

    @classmethod
    def of(cls, repository: Path, model: str) -> "Abilities":
        """Read the abilities from the exported model."""
        path = repository / model / "1" / "whisper" / "quartet.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        return cls(float(settings["window_seconds"]), settings["languages"].keys())

    def rules(self, settings: Settings) -> WindowRules:
        """The rules for reading a file."""
        return WindowRules(
            silence_dbfs=settings.silence_dbfs,
            speech_probability=settings.speech_probability,
            window_seconds=self.window_seconds,
        )


class TranscriptionPipeline:
    """Transcribes whole files with the Whisper models on Triton. ``decoders`` are processes."""

    def __init__(
        self,
        settings: Settings,
        dispatcher: Dispatcher,
        decoders: WorkerQueue,
        threads: WorkerQueue,
        unbilled: UnbilledWorkThrottle,
    ) -> None:
        self._settings, self._dispatcher, self._decoders, self._threads = settings, dispatcher, decoders, threads
        self._unbilled = unbilled
        self._models = {name: model.triton_model for name, model in settings.served.by_id(TRANSCRIPTIONS).items()}
        self._abilities = {model: Abilities.of(settings.model_repository, model) for model in self._models.values()}
        for model, abilities in self._abilities.items():
            # Work is counted in seconds of audio.
            dispatcher.register_model(model, Work(abilities.window_seconds))

    async def run(
        self, request: TranscriptionRequest, context: RequestContext, reserve: Reserves, memory: MemoryReservation
    ) -> tuple[Transcription, Bill | None]:
        """The transcript and its bill. A file without speech is empty, free and never reaches Triton."""
        model = self._models[request.model]
        self.refuse_language(request.model, request.language)
        # Do not decode if the model is unavailable.
        self._dispatcher.queue(model).refuse_away(context)
        with self._unbilled.work(context.key) as timer:
            return await self._transcribed(request, model, context, reserve, memory, timer)

    def refuse_language(self, name: str, language: str) -> None:
        """Raise ``InvalidRequest`` if the model does not know the language."""
        code = token_code(language)
        if code and code not in self._abilities[self._models[name]].languages:
            raise InvalidRequest(f"{name} does not know the language {language}", param="language")

    def window_seconds(self, name: str) -> float:
        """The longest audio of a call to the model."""
        return self._abilities[self._models[name]].window_seconds

    async def hear(self, name: str, inputs: Callable[[], Inputs], context: RequestContext) -> Arrays:
        """The model's answer for one window; ``inputs`` is called when the call is sent."""
        return await self._infer(self._models[name], inputs, context)

    async def _transcribed(
        self,
        request: TranscriptionRequest,
        model: str,
        context: RequestContext,
        reserve: Reserves,
        memory: MemoryReservation,
        timer: WorkTimer,
    ) -> tuple[Transcription, Bill | None]:
        samples = SharedBytes(room_for(self._settings.max_audio_seconds))
        memory.closing.callback(samples.close)
        rules = self._abilities[model].rules(self._settings)
        prepared = await self._prepare(request, samples, rules, context, timer)
        words: list[Word] | None = [] if request.words else None
        if not prepared.windows:
            return Transcription("", request.language, prepared.duration, (), words), None
        samples.shrink(SAMPLE_BYTES * prepared.windows[-1].end)
        memory.add(samples.size)
        context.extend(self._settings.audio_second_seconds * prepared.duration)
        work = len(prepared.windows) * self._abilities[model].window_seconds
        self._dispatcher.queue(model).refuse_late(context, work, self._at_once(model))
        async with reserve(request.model, round(prepared.duration * 1000)) as bill:
            # Short recordings go before the windows of long ones, which run several in parallel.
            window_context = replace(context, rank=int(len(prepared.windows) > 1))
            calls = (self._window(model, request, samples, window, window_context) for window in prepared.windows)
            answers = await gather_or_cancel(calls, lambda: self._at_once(model))
            # Hours of words would block the event loop.
            transcription = await self._threads.run(context, assemble, prepared, answers, request)
        timer.paid()
        return transcription, bill

    def _at_once(self, model: str) -> int:
        """How many windows of a long recording may run now."""
        queue = self._dispatcher.queue(model)
        return (self._settings.windows_at_once or queue.bound) if queue.is_quiet else 1

    async def _prepare(
        self,
        request: TranscriptionRequest,
        samples: SharedBytes,
        rules: WindowRules,
        context: RequestContext,
        timer: WorkTimer,
    ) -> Prepared:
        file, param = request.file, request.file_field
        kind = recognise(file.read)
        if kind.accepted is False:
            raise _unsupported(kind.content_type, param)
        try:
            return await self._decoders.run_with(
                (file.use(), samples.use(), timer.measure()),
                context,
                prepare,
                file.attached,
                samples.attached,
                rules,
            )
        except UnknownCodecError:
            raise _unsupported(f"{kind.content_type} with another codec inside", param) from None
        except UnknownFormatError:
            # A file with an accepted start is damaged, not foreign.
            damaged = InvalidRequest(_NOT_DECODED, param=param)
            raise (damaged if kind.accepted else _unsupported(kind.content_type, param)) from None
        except BeyondLimitsError as error:
            raise InvalidRequest(str(error), param=param) from None
        except (DamagedAudioError, TaskKilledError):
            raise InvalidRequest(_NOT_DECODED, param=param) from None
        except TooLongError:
            raise TooLarge(f"the audio is longer than {self._settings.max_audio_seconds:g} s", param=param) from None

    async def _window(
        self,
        model: str,
        request: TranscriptionRequest,
        samples: SharedBytes,
        window: SpokenWindow,
        context: RequestContext,
    ) -> Arrays:
        return await self._infer(model, lambda: window_inputs(request, samples, window), context)

    async def _infer(self, model: str, inputs: Callable[[], Inputs], context: RequestContext) -> Arrays:
        cost = self._abilities[model].window_seconds
        arrays = await self._dispatcher.infer(model, inputs, [*_OF_THE_WINDOW, *WORDS], context, cost)
        if len({arrays[name].size for name in WORDS}) > 1:
            raise bad_answer(model, f"{WORDS} differ in length")
        if any(arrays[name].size != 1 for name in _OF_THE_WINDOW):
            raise bad_answer(model, f"not one each of {_OF_THE_WINDOW}")
        return arrays


def _unsupported(content_type: str, param: str) -> UnsupportedMedia:
    return UnsupportedMedia(
        f"audio format not supported: recognised {content_type}; accepted formats: {ACCEPTED}", param=param
    )


def window_inputs(request: TranscriptionRequest, samples: SharedBytes, window: SpokenWindow) -> dict[str, NDArray[Any]]:
    """The model's inputs for a window of ``samples``, with the request's options."""
    spoken = samples.read(SAMPLE_BYTES * (window.end - window.start), SAMPLE_BYTES * window.start)
    return model_inputs(spoken, request.language, request.prompt, request.temperature)


def model_inputs(spoken: bytes, language: str, prompt: str, temperature: float = 0.0) -> dict[str, NDArray[Any]]:
    """The model's inputs for one window of samples, int16 at 16 kHz."""
    return {
        "audio": (np.frombuffer(spoken, np.int16) / np.float32(32768))[None],
        "language": text_tensor(token_code(language)),
        "prompt": text_tensor(prompt),
        "temperature": np.array([[temperature]], np.float32),
    }
