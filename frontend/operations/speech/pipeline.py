"""Text to an audio file: phonemize in a worker, speak sentences in parallel, join them in order."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from frontend.access.throttles import UnbilledWorkThrottle, WorkTimer
from frontend.audio.encode import ENCODERS, AudioFile, AudioStream, Samples, to_int16
from frontend.concurrency.background import cancel_all
from frontend.concurrency.gather import gather_or_cancel, read_ahead
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.http.memory import MemoryReservation
from frontend.operations.speech.protocol import EVENTS, SpeechRequest, render_deltas, render_done
from frontend.operations.speech.speaking import LengthLimit, Speaking
from frontend.operations.speech.voices import ExportedVoice, load
from frontend.processes.offload import TaskKilledError
from frontend.text.phonemes import MOST_IDS, MOST_SYMBOLS, Utterance, phonemize, phonemize_first, phonemize_others
from frontend.tritons.triton import bad_answer
from frontend.usage.bill import Bill, Reserves

# Work per call, in phoneme ids. A call is one execution.
_WORK = Work(MOST_IDS)
# Bytes per character or symbol for a slow speaker, 22,050 samples of two bytes a second; and symbols per character.
_BYTES_PER_CHARACTER = 4000
_SYMBOLS_PER_CHARACTER = 1.25
# Utterances of a stream that are spoken at once, or wait to be sent. Fewer would leave processors idle while a long one
# is waited for.
_AHEAD = 5

P = ParamSpec("P")
T = TypeVar("T")
_Spoken = tuple[Utterance, Samples]


class SpeechPipeline:
    """Says texts with the voices on Triton. ``phonemizers`` are processes, ``encoders`` threads."""

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
    ) -> tuple[bytes, Bill]:
        """The whole audio file, and its bill."""
        async with reserve(request.model, len(request.text)) as bill:
            expected = _expected_bytes(request)
            memory.add(expected)
            text = self._begin(request, context, expected, memory.add)
            with self._unbilled.work(context.key) as timer:
                parts = await self._phonemize(text, timer, phonemize, request.text, text.voice.alphabet)
                if not parts:
                    raise text.refusal("holds nothing that can be spoken")
                file = await self._encode(text, await self._say(text, parts))
                timer.paid()
            return file, bill

    async def stream(
        self, request: SpeechRequest, context: RequestContext, reserve: Reserves, memory: MemoryReservation
    ) -> tuple[bytes, AsyncGenerator[bytes, None], Bill]:
        """The first piece of the file, a generator of the others, and the bill.

        The generator keeps a few utterances ahead, whose memory is reserved, and otherwise waits for its user.
        """
        async with reserve(request.model, len(request.text)) as bill:
            expected = _expected_bytes(request)
            # The utterances ahead, and the one that is sent, as samples and as encoded bytes.
            memory.add(min(expected, int((_AHEAD + 2) * MOST_SYMBOLS * _BYTES_PER_CHARACTER / request.speed)))
            # Sent audio holds no memory, so only its length is limited.
            text = self._begin(request, context, expected, lambda beyond: None)
            self._refuse_late(text, _SYMBOLS_PER_CHARACTER * text.voice.alphabet.ids_per_symbol * len(request.text))
            with self._unbilled.work(context.key) as timer:
                pieces = self._pieces(text, timer)
                return await anext(pieces), pieces, bill

    def _begin(
        self, request: SpeechRequest, context: RequestContext, expected: int, reserve: Callable[[int], None]
    ) -> Speaking:
        voice = self._voices[request.voice]
        most = self._settings.max_speech_seconds
        length = LengthLimit(most, voice.sample_rate, request.text_field, expected, reserve)
        return Speaking(request, voice, context, length)

    async def _phonemize(
        self, text: Speaking, timer: WorkTimer, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        try:
            return await self._phonemizers.run_with((timer.measure(),), text.context, function, *args, **kwargs)
        except TaskKilledError:
            raise text.refusal("could not be turned into sounds") from None

    def _refuse_late(self, text: Speaking, ids: float) -> None:
        queue = self._dispatcher.queue(text.voice.model)
        queue.refuse_late(text.context, ids / text.request.speed, self._settings.calls_at_once)

    async def _say(self, text: Speaking, parts: list[Utterance]) -> list[_Spoken]:
        """The samples of each utterance, in order."""
        self._refuse_late(text, sum(len(part.ids) for part in parts))
        # Longest first, so that the last sentences to run are short.
        order = sorted(range(len(parts)), key=lambda place: -len(parts[place].ids))
        calls = (self._utterance(text, parts[place]) for place in order)
        spoken = dict(zip(order, await gather_or_cancel(calls, lambda: self._settings.calls_at_once), strict=True))
        return [spoken[place] for place in range(len(parts))]

    async def _utterance(self, text: Speaking, part: Utterance, rank: int = 0) -> _Spoken:
        voice, ids, speed = text.voice, part.ids, text.request.speed
        context = replace(text.context, rank=rank)
        arrays = await self._dispatcher.infer(
            voice.model, lambda: voice.inputs(ids, speed), [voice.output], context, len(ids) / speed
        )
        audio: NDArray[np.float32] = arrays[voice.output].reshape(-1)
        if audio.size == 0:
            raise bad_answer(voice.model, "a sentence without samples")
        text.length.add(audio.size + self._pause(voice) * part.ends)
        return part, to_int16(audio, voice.least_peak)

    def _pause(self, voice: ExportedVoice) -> int:
        """Samples between two sentences."""
        return int(self._settings.sentence_pause_seconds * voice.sample_rate)

    async def _encode(self, text: Speaking, spoken: list[_Spoken]) -> bytes:
        """Encode the file with pauses, one utterance at a time, so that other work can run in between."""
        voice = text.voice
        file = AudioFile(text.request.response_format, voice.sample_rate, self._settings.mp3_kbps)
        pause = np.zeros(self._pause(voice), np.int16)
        for place, (part, audio) in enumerate(spoken, 1):
            pauses = part.ends and place < len(spoken)
            await self._encoders.run(text.context, file.add, np.concatenate([audio, pause]) if pauses else audio)
        return await self._encoders.run(text.context, file.finish)

    async def _pieces(self, text: Speaking, timer: WorkTimer) -> AsyncGenerator[bytes, None]:
        """The file in pieces: one per utterance, and the end."""
        request, voice = text.request, text.voice
        file = AudioStream(request.response_format, voice.sample_rate, self._settings.mp3_kbps)
        ends, pause = False, np.zeros(self._pause(voice), np.int16)
        rendered = render_deltas if request.stream_format == EVENTS else bytes
        async with aclosing(self._spoken(text, timer)) as spoken:
            async for part, audio in spoken:
                samples = np.concatenate([pause, audio]) if ends else audio
                yield rendered(await self._encoders.run(text.context, file.add, samples))
                ends = part.ends
        last = rendered(await self._encoders.run(text.context, file.finish))
        yield last + render_done(len(request.text)) if request.stream_format == EVENTS else last

    async def _spoken(self, text: Speaking, timer: WorkTimer) -> AsyncGenerator[_Spoken, None]:
        """The utterances in order. While the first one is spoken, the others get their phonemes."""
        alphabet = text.voice.alphabet
        parts, sentences = await self._phonemize(text, timer, phonemize_first, text.request.text, alphabet)
        if not parts:
            raise text.refusal("holds nothing that can be spoken")
        first, begun = asyncio.create_task(self._utterance(text, parts[0])), False
        async with aclosing(self._others(text, timer, parts, sentences, first)) as others:
            second = asyncio.create_task(_next(others))
            try:
                spoken_first = await first
                begun = True
                yield spoken_first
                if (spoken := await second) is not None:
                    yield spoken
            finally:
                await cancel_all([first, second])
                if begun:
                    # Who hears the first sound pays for all phonemes.
                    timer.paid()
            async for spoken in others:
                yield spoken

    async def _others(
        self,
        text: Speaking,
        timer: WorkTimer,
        parts: list[Utterance],
        sentences: list[str],
        first: asyncio.Task[_Spoken],
    ) -> AsyncGenerator[_Spoken, None]:
        """The utterances after ``first``, which has the processors to itself: it plays while they are spoken."""
        if sentences:
            before = sum(len(part.ids) for part in parts)
            parts += await self._phonemize(text, timer, phonemize_others, sentences, text.voice.alphabet, before)
        await asyncio.shield(first)
        # Within a key, what others wait to hear goes first.
        calls = (self._utterance(text, part, rank=1) for part in parts[1:])
        async with aclosing(read_ahead(calls, min(_AHEAD, self._settings.calls_at_once))) as spoken:
            async for each in spoken:
                yield each


async def _next(others: AsyncGenerator[_Spoken, None]) -> _Spoken | None:
    return await anext(others, None)


def _expected_bytes(request: SpeechRequest) -> int:
    """Bytes of the samples of a request, for a slow speaker."""
    return int(_BYTES_PER_CHARACTER * len(request.text) / request.speed)
