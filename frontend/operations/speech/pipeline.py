"""Text to an audio file: phonemize in a worker, speak sentences in parallel, join them in order."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from frontend.access.throttles import UnbilledWorkThrottle, WorkTimer
from frontend.audio.encode import ENCODERS, AudioFile, Samples, to_int16
from frontend.billing.bill import Reserves
from frontend.concurrency.gather import gather_or_cancel
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.http.memory import MemoryReservation
from frontend.operations.speech.protocol import SpeechRequest
from frontend.operations.speech.speaking import LengthLimit, Speaking
from frontend.operations.speech.voices import ExportedVoice, load
from frontend.processes.offload import TaskKilledError
from frontend.text.phonemes import MOST_IDS, Utterance, phonemize
from frontend.text.sentences import Reader
from frontend.tritons.triton import bad_answer

# Work per call, in phoneme ids. A call is one execution.
_WORK = Work(MOST_IDS)
# Ten seconds of sound, which take a millisecond to scale.
_INLINE_SAMPLES = 240_000
# Bytes per character or symbol for a slow speaker: 22,050 samples of two bytes a second.
BYTES_PER_CHARACTER = 4000

P = ParamSpec("P")
T = TypeVar("T")
Spoken = tuple[Utterance, Samples]


class SpeechPipeline:
    """Says texts with the voices on Triton. ``phonemizers`` are processes, ``encoders`` threads."""

    def __init__(
        self,
        settings: Settings,
        dispatcher: Dispatcher,
        phonemizers: WorkerQueue,
        encoders: WorkerQueue,
        unbilled: UnbilledWorkThrottle,
        reader: Reader,
    ) -> None:
        self.settings, self._dispatcher, self.unbilled, self.reader = settings, dispatcher, unbilled, reader
        self._phonemizers, self.encoders = phonemizers, encoders
        repository = settings.model_repository
        if lacking := settings.served.audio_formats.keys() - ENCODERS:
            raise SettingsError(f"the catalogue's audio format {min(lacking)!r} has no encoder")
        self._voices = {voice.name: load(voice, repository) for voice in settings.served.voices}
        for model in dict.fromkeys(voice.model for voice in self._voices.values()):
            dispatcher.register_model(model, _WORK)

    @property
    def voices(self) -> Mapping[str, ExportedVoice]:
        """The served voices, by name."""
        return self._voices

    @property
    def accents(self) -> dict[str, str]:
        """The speaker's language of each voice that speaks another one."""
        return {name: voice.accent for name, voice in self._voices.items() if voice.accent}

    async def run(
        self, request: SpeechRequest, context: RequestContext, reserve: Reserves, memory: MemoryReservation
    ) -> bytes:
        """The whole audio file."""
        async with reserve(request.model, len(request.text)):
            expected = expected_bytes(request)
            memory.add(expected)
            text = self.begin(request, context, expected, memory.add)
            with self.unbilled.work(context.key) as timer:
                parts = await self.phonemize(
                    text, timer, phonemize, request.text, text.voice.alphabet, self.reader.split
                )
                if not parts:
                    raise text.refusal("holds nothing that can be spoken")
                file = await self._encode(text, await self._say(text, parts))
                timer.paid()
            return file

    def begin(
        self, request: SpeechRequest, context: RequestContext, expected: int, reserve: Callable[[int], None]
    ) -> Speaking:
        """Raises ``Busy`` if the queue of the voice is full or the wait too long."""
        voice = self._voices[request.voice]
        self._dispatcher.queue(voice.model).refuse_early(context)
        most = self.settings.max_speech_seconds
        length = LengthLimit(most, voice.sample_rate, request.text_field, expected, reserve)
        return Speaking(request, voice, context, length)

    async def phonemize(
        self, text: Speaking, timer: WorkTimer, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        try:
            return await self._phonemizers.run_with((timer.measure(),), text.context, function, *args, **kwargs)
        except TaskKilledError:
            raise text.refusal("could not be turned into sounds") from None

    def refuse_late(self, text: Speaking, ids: float) -> None:
        queue = self._dispatcher.queue(text.voice.model)
        queue.refuse_late(text.context, ids / text.request.speed, self.settings.calls_at_once)

    async def _say(self, text: Speaking, parts: list[Utterance]) -> list[Spoken]:
        """The samples of each utterance, in order."""
        self.refuse_late(text, sum(len(part.ids) for part in parts))
        # Longest first, so that the last sentences to run are short.
        order = sorted(range(len(parts)), key=lambda index: -len(parts[index].ids))
        costs, at_once = [self._work(text, parts[index]) for index in order], self.settings.calls_at_once
        contexts = self._dispatcher.queue(text.voice.model).contexts(text.context, costs, at_once)
        calls = (self.utterance(text, parts[index], each) for index, each in zip(order, contexts, strict=True))
        spoken = dict(zip(order, await gather_or_cancel(calls, lambda: at_once), strict=True))
        return [spoken[index] for index in range(len(parts))]

    async def utterance(self, text: Speaking, part: Utterance, context: RequestContext) -> Spoken:
        voice, ids, speed = text.voice, part.ids, text.request.speed
        arrays = await self._dispatcher.infer(
            voice.model, lambda: voice.inputs(ids, speed), [voice.output], context, self._work(text, part)
        )
        audio: NDArray[np.float32] = arrays[voice.output].reshape(-1)
        if audio.size == 0:
            raise bad_answer(voice.model, "a sentence without samples")
        text.length.add(audio.size + self.pause(voice) * part.ends)
        if audio.size <= _INLINE_SAMPLES:
            return part, to_int16(audio, voice.least_peak)
        # What is due and what follows hold in the queue of the voice.
        own = replace(context, due=None, follows=0.0)
        return part, await self.encoders.run(own, to_int16, audio, voice.least_peak)

    @staticmethod
    def _work(text: Speaking, part: Utterance) -> float:
        return len(part.ids) / text.request.speed

    def pause(self, voice: ExportedVoice) -> int:
        """Samples between two sentences."""
        return int(self.settings.sentence_pause_seconds * voice.sample_rate)

    async def _encode(self, text: Speaking, spoken: list[Spoken]) -> bytes:
        """Encode the file with pauses, one utterance at a time, so that other work can run in between."""
        voice = text.voice
        file = AudioFile(text.request.response_format, voice.sample_rate, self.settings.mp3_kbps)
        pause = np.zeros(self.pause(voice), np.int16)
        for index, (part, audio) in enumerate(spoken, 1):
            pauses = part.ends and index < len(spoken)
            await self.encoders.run(text.context, file.add, np.concatenate([audio, pause]) if pauses else audio)
        return await self.encoders.run(text.context, file.finish)


def expected_bytes(request: SpeechRequest) -> int:
    """Bytes of the samples of a request, for a slow speaker."""
    return int(BYTES_PER_CHARACTER * len(request.text) / request.speed)
