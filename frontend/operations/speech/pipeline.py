"""Text to an audio file: phonemize in a worker, speak sentences in parallel, join them in order."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from frontend.access.throttles import UnbilledWorkThrottle, WorkTimer
from frontend.audio.encode import ENCODERS, AudioFile, Samples, to_int16
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.errors import InvalidRequest
from frontend.http.memory import MemoryReservation
from frontend.operations.speech.protocol import SpeechRequest
from frontend.operations.speech.voices import PiperVoice
from frontend.processes.gather import gather_or_cancel
from frontend.processes.offload import TaskKilledError
from frontend.text.phonemes import MOST_IDS, Utterance, phonemize
from frontend.tritons.triton import bad_answer
from frontend.usage.bill import Bill, Reserves

INPUTS = ("input", "input_lengths", "scales")
OUTPUT = "output"
# Work per call, in phoneme ids. A call is one execution.
_WORK = Work(MOST_IDS)
# Bytes per character for a slow speaker, at 22,050 samples per second of two bytes.
_BYTES_PER_CHARACTER = 4000


class LengthLimit:
    """Limits the audio of one request to ``most`` seconds, because spoken numbers are five times as long as words.

    ``param`` is the parameter with the text. ``reserve`` reserves the bytes beyond the ``expected`` ones.
    """

    def __init__(
        self, most: float, sample_rate: int, param: str, expected: int, reserve: Callable[[int], None]
    ) -> None:
        self._most, self._sample_rate, self._param, self._reserve = most, sample_rate, param, reserve
        self._samples, self._reserved = 0, expected

    def add(self, samples: int) -> None:
        """Add samples. Raises ``InvalidRequest`` if the total is too long, before the rest is spoken."""
        self._samples += samples
        if self._samples > self._most * self._sample_rate:
            message = f"{self._param} makes more than {self._most:g} s of audio: send it in several requests"
            raise InvalidRequest(message, param=self._param)
        # A sample has two bytes.
        if (beyond := 2 * self._samples - self._reserved) > 0:
            self._reserved += beyond
            self._reserve(beyond)


class SpeechPipeline:
    """Says texts with the Piper voices on Triton. ``phonemizers`` are processes, ``encoders`` threads."""

    def __init__(
        self,
        settings: Settings,
        dispatcher: Dispatcher,
        phonemizers: WorkerQueue,
        encoders: WorkerQueue,
        unbilled: UnbilledWorkThrottle,
    ) -> None:
        self._settings, self._dispatcher, self._unbilled = settings, dispatcher, unbilled
        self._phonemizers, self._encoders = phonemizers, encoders
        repository = settings.model_repository
        if lacking := AUDIO_FORMATS.keys() - ENCODERS.keys():
            raise SettingsError(f"the catalogue's audio format {min(lacking)!r} has no encoder")
        self._voices = {voice.name: PiperVoice.load(voice, repository) for voice in settings.served.voices}
        for voice in self._voices.values():
            dispatcher.register_model(voice.model, _WORK)

    @property
    def voices(self) -> Mapping[str, PiperVoice]:
        """The served voices, by name."""
        return self._voices

    @property
    def robots(self) -> list[str]:
        """Names of the synthetic demo voices."""
        return [name for name, voice in self._voices.items() if voice.robot]

    async def run(
        self, request: SpeechRequest, context: RequestContext, reserve: Reserves, memory: MemoryReservation
    ) -> tuple[bytes, Bill]:
        """The whole audio file, and its bill."""
        async with reserve(request.model, len(request.text)) as bill:
            voice, expected = self._voices[request.voice], _BYTES_PER_CHARACTER * len(request.text)
            memory.add(expected)
            most = self._settings.max_speech_seconds
            length = LengthLimit(most, voice.sample_rate, request.text_field, expected, memory.add)
            with self._unbilled.work(context.key) as timer:
                file = await self._file(request, voice, context, timer, length)
                timer.paid()
            return file, bill

    async def _file(
        self,
        request: SpeechRequest,
        voice: PiperVoice,
        context: RequestContext,
        timer: WorkTimer,
        length: LengthLimit,
    ) -> bytes:
        name = request.text_field
        try:
            parts = await self._phonemizers.run_with(
                (timer.measure(),), context, phonemize, request.text, voice.alphabet
            )
        except TaskKilledError:
            raise InvalidRequest(f"{name} could not be turned into sounds", param=name) from None
        if not parts:
            raise InvalidRequest(f"{name} holds nothing that can be spoken", param=name)
        spoken = await self._say(voice, parts, context, length)
        return await self._encode(spoken, voice, request.response_format, context)

    async def _say(
        self, voice: PiperVoice, parts: list[Utterance], context: RequestContext, length: LengthLimit
    ) -> list[tuple[Utterance, Samples]]:
        """The samples of each utterance, in order."""
        work = sum(len(part.ids) for part in parts)
        self._dispatcher.queue(voice.model).refuse_late(context, work, self._settings.calls_at_once)
        # Longest first, so that the last sentences to run are short.
        order = sorted(range(len(parts)), key=lambda place: -len(parts[place].ids))
        calls = (self._utterance(voice, parts[place], context, length) for place in order)
        spoken = dict(zip(order, await gather_or_cancel(calls, lambda: self._settings.calls_at_once), strict=True))
        return [(part, spoken[place]) for place, part in enumerate(parts)]

    async def _utterance(
        self, voice: PiperVoice, part: Utterance, context: RequestContext, length: LengthLimit
    ) -> Samples:
        ids = part.ids
        arrays = await self._dispatcher.infer(voice.model, lambda: voice.inputs(ids), [OUTPUT], context, len(ids))
        audio: NDArray[np.float32] = arrays[OUTPUT].reshape(-1)
        if audio.size == 0:
            raise bad_answer(voice.model, "a sentence without samples")
        length.add(audio.size + self._pause(voice) * part.ends)
        return to_int16(audio)

    def _pause(self, voice: PiperVoice) -> int:
        """Samples between two sentences."""
        return int(self._settings.sentence_pause_seconds * voice.sample_rate)

    async def _encode(
        self, spoken: list[tuple[Utterance, Samples]], voice: PiperVoice, response_format: str, context: RequestContext
    ) -> bytes:
        """Encode the file with pauses, one utterance at a time, so that other work can run in between."""
        file = AudioFile(response_format, voice.sample_rate, self._settings.mp3_kbps)
        pause = np.zeros(self._pause(voice), np.int16)
        for place, (part, audio) in enumerate(spoken, 1):
            pauses = part.ends and place < len(spoken)
            await self._encoders.run(context, file.add, np.concatenate([audio, pause]) if pauses else audio)
        return await self._encoders.run(context, file.finish)
