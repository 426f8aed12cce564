"""File to transcript: decode and cut in a worker, transcribe windows on Triton, join them in order."""

import math
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frontend.access.throttles import UnbilledWorkThrottle, WorkTimer
from frontend.audio.decode import (
    SAMPLE_RATE,
    BeyondLimitsError,
    TooLongError,
    TooShortError,
    UnknownCodecError,
    UnknownFormatError,
)
from frontend.audio.detector import FRAME, gain_at, loudness
from frontend.audio.packets import DamagedAudioError
from frontend.audio.prepare import SAMPLE_BYTES, Prepared, SpokenWindow, WindowRules, prepare, room_for
from frontend.audio.sniff import ACCEPTED, MORE, recognise
from frontend.billing.bill import Bill, Reserves
from frontend.catalogue.languages import token_code
from frontend.catalogue.models import TRANSCRIPTIONS
from frontend.concurrency.gather import gather_or_cancel
from frontend.config.settings import Settings
from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.errors import InvalidRequest, TooLarge, UnsupportedMedia
from frontend.http.memory import MemoryReservation
from frontend.operations.transcription.abilities import TRANSLATE, Abilities
from frontend.operations.transcription.answers import Word
from frontend.operations.transcription.assembly import WORDS, assemble
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest
from frontend.processes.offload import TaskKilledError
from frontend.processes.shared_memory import SharedBytes
from frontend.text.sentences import Reader
from frontend.tritons.inference import Inputs
from frontend.tritons.triton import Arrays, bad_answer, text_tensor

INPUTS = ("audio", "language", "prompt", "temperature")
# What stands before it in the prompt is kept where the prompt is too long: model_repository/whisper_turbo/1/tokens.py.
AFTER_KEYWORDS = "\x1f"
_OF_THE_WINDOW = ("language", "avg_logprob", "no_speech_prob")
_NOT_DECODED = "the audio could not be decoded"


class TranscriptionPipeline:
    """Transcribes whole files with the Whisper models on Triton. ``decoders`` are processes."""

    def __init__(
        self,
        settings: Settings,
        dispatcher: Dispatcher,
        decoders: WorkerQueue,
        threads: WorkerQueue,
        unbilled: UnbilledWorkThrottle,
        reader: Reader,
    ) -> None:
        self._settings, self._dispatcher, self._decoders, self._threads = settings, dispatcher, decoders, threads
        self.unbilled, self.reader = unbilled, reader
        self._models = {name: model.triton_model for name, model in settings.served.by_id(TRANSCRIPTIONS).items()}
        self._abilities = {model: Abilities.of(settings.model_repository, model) for model in self._models.values()}
        # Triton models that take the input for translations.
        self._translators: frozenset[str] = frozenset()
        for model, abilities in self._abilities.items():
            # Work is counted in seconds that are encoded.
            dispatcher.register_model(model, Work(abilities.window_seconds))

    async def run(
        self, request: TranscriptionRequest, context: RequestContext, reserve: Reserves, memory: MemoryReservation
    ) -> Transcription:
        """The transcript. A file without words is free, and without speech never reaches Triton."""
        with self.unbilled.work(context.key) as timer:
            decoded = await self.decode(request, context, memory, timer)
            if not decoded.prepared.windows:
                words: list[Word] | None = [] if request.words else None
                return Transcription("", request.language_of_text, decoded.prepared.duration, (), words)
            async with reserve(request.model, decoded.milliseconds) as bill:
                answers = await gather_or_cancel(self.calls(decoded, context), lambda: self.at_once(decoded.model))
                # Hours of words would block the event loop.
                transcription = await self._threads.run(
                    context, assemble, decoded.prepared, answers, request, self.reader
                )
                if not transcription.text:
                    self.waive(bill, decoded, timer)
                    return transcription
            timer.paid()
            return transcription

    def translate_with(self, models: Collection[str]) -> None:
        """Let these Triton models translate. All their requests have the input then: Triton joins only such ones."""
        self._translators = frozenset(models)

    def refuse_language(self, name: str, language: str, param: str = "language") -> None:
        """Raise ``InvalidRequest`` if the model does not know the language of ``param``."""
        code, known = token_code(language), self._abilities[self._models[name]].languages
        if code and code not in known:
            only = f"; it knows {', '.join(known)} alone" if len(known) == 1 else ""
            raise InvalidRequest(f"{name} does not know the language {language}{only}", param=param)

    def window_seconds(self, name: str) -> float:
        """The longest audio of a call to the model."""
        return self._abilities[self._models[name]].window_seconds

    async def transcribe_window(
        self, name: str, seconds: float, inputs: Callable[[], Inputs], context: RequestContext
    ) -> Arrays:
        """The model's answer for one window of ``seconds``; ``inputs`` is called when the call is sent."""
        return await self._infer(self._models[name], seconds, inputs, context)

    async def decode(
        self, request: TranscriptionRequest, context: RequestContext, memory: MemoryReservation, timer: WorkTimer
    ) -> "DecodedFile":
        """Decode the file, and refuse it if the model would not be done in time."""
        model = self._models[request.model]
        self.refuse_language(request.model, request.language)
        for language in request.languages:
            self.refuse_language(request.model, language, "languages[]")
        # Do not decode if the model is unavailable, or as many calls wait as may.
        queue = self._dispatcher.queue(model)
        queue.refuse_full(context)
        samples = SharedBytes(room_for(self._settings.max_audio_seconds))
        memory.closing.callback(samples.close)
        # Each second of audio moves the deadline, so only recordings that are short enough would be late.
        late, each = queue.seconds_late(context), self._settings.audio_second_seconds
        least = late / each if each else math.copysign(math.inf, late)
        rules = replace(self._abilities[model].rules(self._settings), least_seconds=least)
        prepared = await self._prepare(request, samples, rules, context, timer)
        if prepared.windows:
            samples.shrink(SAMPLE_BYTES * prepared.windows[-1].end)
            memory.add(samples.size)
            context.extend(self._settings.audio_second_seconds * prepared.duration)
            work = self._abilities[model].work(_seconds(prepared.windows))
            queue.refuse_late(_ranked(context, prepared.windows), work, self.at_once(model))
        return DecodedFile(request, model, samples, prepared)

    def calls(self, decoded: "DecodedFile", context: RequestContext) -> Iterator[Coroutine[Any, Any, Arrays]]:
        """A call for each window."""
        windows = decoded.prepared.windows
        window_context = _ranked(context, windows)
        for window in windows:
            inputs = partial(window_inputs, decoded.request, decoded.samples, window)
            (seconds,) = _seconds([window])
            yield self._infer(decoded.model, seconds, inputs, window_context, translate=decoded.request.translate)

    def waive(self, bill: Bill, decoded: "DecodedFile", timer: WorkTimer) -> None:
        """Let a transcript without a word be free. The model's work counts as unbilled."""
        bill.waive()
        timer.add(self.seconds_for(decoded.request.model, _seconds(decoded.prepared.windows)))

    def seconds_for(self, name: str, windows: Iterable[float]) -> float:
        """Seconds that the model takes for windows of these seconds."""
        model = self._models[name]
        return self._dispatcher.queue(model).seconds_for(self._abilities[model].work(windows))

    def at_once(self, model: str) -> int:
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
        kind = recognise(file.read, more=rules.more_audio)
        if kind.accepted is False:
            raise _unsupported(kind.content_type, param, rules)
        uses = (file.use(), samples.use(), timer.measure())
        try:
            return await self._decoders.run_with(uses, context, prepare, file.attached, samples.attached, rules)
        except UnknownCodecError:
            raise _unsupported(f"{kind.content_type} with another codec inside", param, rules) from None
        except UnknownFormatError:
            if kind.accepted:
                # It is damaged, not foreign.
                raise InvalidRequest(_NOT_DECODED, param=param) from None
            raise _unsupported(kind.content_type, param, rules) from None
        except BeyondLimitsError as error:
            raise InvalidRequest(str(error), param=param) from None
        except TooShortError:
            raise self._dispatcher.queue(self._models[request.model]).late(context) from None
        except (DamagedAudioError, TaskKilledError):
            raise InvalidRequest(_NOT_DECODED, param=param) from None
        except TooLongError:
            raise TooLarge(f"the audio is longer than {self._settings.max_audio_seconds:g} s", param=param) from None

    async def _infer(
        self,
        model: str,
        seconds: float,
        inputs: Callable[[], Inputs],
        context: RequestContext,
        *,
        translate: bool = False,
    ) -> Arrays:
        cost = self._abilities[model].work([seconds])
        task = {TRANSLATE: np.array([[translate]])} if model in self._translators else {}

        def complete() -> Inputs:
            return {**inputs(), **task}

        arrays = await self._dispatcher.infer(model, complete, [*_OF_THE_WINDOW, *WORDS], context, cost)
        if len({arrays[name].size for name in WORDS}) > 1:
            raise bad_answer(model, f"{WORDS} differ in length")
        if any(arrays[name].size != 1 for name in _OF_THE_WINDOW):
            raise bad_answer(model, f"not one each of {_OF_THE_WINDOW}")
        return arrays


@dataclass(frozen=True)
class DecodedFile:
    """A decoded file, for the Triton model that transcribes it."""

    request: TranscriptionRequest
    model: str
    samples: SharedBytes
    prepared: Prepared

    @property
    def milliseconds(self) -> int:
        """What is charged: the duration that the answer has."""
        return round(1000 * round(self.prepared.duration, 3))


def _ranked(context: RequestContext, windows: Sequence[SpokenWindow]) -> RequestContext:
    """Short recordings go before the windows of long ones, which run several in parallel."""
    return replace(context, rank=int(len(windows) > 1))


def _seconds(windows: Sequence[SpokenWindow]) -> list[float]:
    return [(window.end - window.start) / SAMPLE_RATE for window in windows]


def _unsupported(content_type: str, param: str, rules: WindowRules) -> UnsupportedMedia:
    accepted = f"{ACCEPTED}, {MORE}" if rules.more_audio else ACCEPTED
    return UnsupportedMedia(
        f"audio format not supported: recognised {content_type}; accepted formats: {accepted}", param=param
    )


def window_inputs(request: TranscriptionRequest, samples: SharedBytes, window: SpokenWindow) -> dict[str, NDArray[Any]]:
    """The model's inputs for a window of ``samples``, with the request's options."""
    spoken = samples.read(SAMPLE_BYTES * (window.end - window.start), SAMPLE_BYTES * window.start)
    prompt, words = request.prompt, f"{', '.join(request.keywords)}." if request.keywords else ""
    # A caller's own separator is a part of the prompt.
    if words or AFTER_KEYWORDS in prompt:
        prompt = f"{words}{AFTER_KEYWORDS}{prompt}"
    return model_inputs(spoken, request.language, prompt, request.temperature, request.languages)


def model_inputs(
    spoken: bytes, language: str, prompt: str, temperature: float = 0.0, among: Sequence[str] = ()
) -> dict[str, NDArray[Any]]:
    """The model's inputs for one window of samples, int16 at 16 kHz. The model takes quiet speech for none.

    Without a language, it chooses one ``among`` these, or of all.
    """
    samples = np.frombuffer(spoken, np.int16)
    gain = gain_at(loudness(samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME)))
    audio = samples * np.float32(gain / 32768)
    return {
        "audio": (np.clip(audio, -1, 1) if gain > 1 else audio)[None],
        "language": text_tensor(",".join(map(token_code, among)) or token_code(language)),
        "prompt": text_tensor(prompt),
        "temperature": np.array([[temperature]], np.float32),
    }
