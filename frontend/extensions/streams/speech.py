"""Speech that is sent sentence by sentence, as bytes or as events."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

import numpy as np
from aiohttp import web

from frontend.access.throttles import WorkTimer
from frontend.app_keys import BILLING, CONTEXT, MEMORY_RESERVATION, SETTINGS
from frontend.app_keys import SPEECH as PIPELINE
from frontend.billing.bill import Reserves
from frontend.concurrency.background import cancel_all
from frontend.dispatch.context import RequestContext
from frontend.extensions.streams.delivery import deliver_while_made
from frontend.extensions.streams.encode import AudioStream
from frontend.extensions.streams.order import read_ahead
from frontend.http.memory import MemoryReservation
from frontend.http.rendering import EVENTS as EVENT_HEAD
from frontend.http.rendering import render_event
from frontend.operations.speech.handler import Delivers
from frontend.operations.speech.pipeline import BYTES_PER_CHARACTER, SpeechPipeline, Spoken, expected_bytes
from frontend.operations.speech.protocol import SpeechRequest
from frontend.operations.speech.speaking import Speaking
from frontend.parameters.speech import EVENTS
from frontend.text.phonemes import MOST_SYMBOLS, Utterance, phonemize_first, phonemize_others

# Symbols per character of a slow speaker.
_SYMBOLS_PER_CHARACTER = 1.25
# Utterances of a stream that are spoken at once, or wait to be sent. Fewer would leave processors idle while a long one
# is waited for.
_AHEAD = 5
# Bytes of audio of an event. Some clients read lines of at most 64 kB, and base64 takes four bytes for three.
_EVENT_BYTES = 24 * 1024


async def answer(request: web.Request, parsed: SpeechRequest) -> Delivers:
    pipeline, reserve, memory = request.app[PIPELINE], request[BILLING].reserve, request[MEMORY_RESERVATION]
    first, others = await stream(pipeline, parsed, request[CONTEXT], reserve, memory)
    kind = {"Content-Type": request.app[SETTINGS].served.audio_formats[parsed.response_format]}
    head = EVENT_HEAD if parsed.stream_format == EVENTS else kind
    return lambda: deliver_while_made(request, head, first, others)


async def stream(
    pipeline: SpeechPipeline,
    request: SpeechRequest,
    context: RequestContext,
    reserve: Reserves,
    memory: MemoryReservation,
) -> tuple[bytes, AsyncGenerator[bytes, None]]:
    """The first piece of the file, and a generator of the others.

    The generator keeps a few utterances ahead, whose memory is reserved, and otherwise waits for its user.
    """
    async with reserve(request.model, len(request.text)):
        expected = expected_bytes(request)
        # The utterances ahead, and the one that is sent, as samples and as encoded bytes.
        memory.add(min(expected, int((_AHEAD + 2) * MOST_SYMBOLS * BYTES_PER_CHARACTER / request.speed)))
        # Sent audio holds no memory, so only its length is limited.
        text = pipeline.begin(request, context, expected, lambda beyond: None)
        pipeline.refuse_late(text, _SYMBOLS_PER_CHARACTER * text.voice.alphabet.ids_per_symbol * len(request.text))
        with pipeline.unbilled.work(context.key) as timer:
            pieces = _Stream(pipeline, text, timer).pieces()
            return await anext(pieces), pieces


class _Stream:
    """The speech of one request."""

    def __init__(self, pipeline: SpeechPipeline, text: Speaking, timer: WorkTimer) -> None:
        self._pipeline, self._text, self._timer = pipeline, text, timer

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The file in pieces: one per utterance, and the end."""
        request, voice, encoders = self._text.request, self._text.voice, self._pipeline.encoders
        file = AudioStream(request.response_format, voice.sample_rate, self._pipeline.settings.mp3_kbps)
        ends, pause = False, np.zeros(self._pipeline.pause(voice), np.int16)
        rendered = _deltas if request.stream_format == EVENTS else bytes
        async with aclosing(self._spoken()) as spoken:
            async for part, audio in spoken:
                samples = np.concatenate([pause, audio]) if ends else audio
                yield rendered(await encoders.run(self._text.context, file.add, samples))
                ends = part.ends
        last = rendered(await encoders.run(self._text.context, file.finish))
        yield last + _done(len(request.text)) if request.stream_format == EVENTS else last

    async def _spoken(self) -> AsyncGenerator[Spoken, None]:
        """The utterances in order. While the first one is spoken, the others get their phonemes."""
        text, alphabet = self._text, self._text.voice.alphabet
        parts, sentences = await self._pipeline.phonemize(
            text, self._timer, phonemize_first, text.request.text, alphabet, self._pipeline.reader.split
        )
        if not parts:
            raise text.refusal("holds nothing that can be spoken")
        first, begun = asyncio.create_task(self._pipeline.utterance(text, parts[0], text.context)), False
        async with aclosing(self._others(parts, sentences, first)) as others:
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
                    self._timer.paid()
            async for spoken in others:
                yield spoken

    async def _others(
        self, parts: list[Utterance], sentences: list[str], first: asyncio.Task[Spoken]
    ) -> AsyncGenerator[Spoken, None]:
        """The utterances after ``first``, which has the processors to itself: it plays while they are spoken."""
        pipeline, text = self._pipeline, self._text
        if sentences:
            before = sum(len(part.ids) for part in parts)
            alphabet = text.voice.alphabet
            parts += await pipeline.phonemize(text, self._timer, phonemize_others, sentences, alphabet, before)
        await asyncio.shield(first)
        # Within a key, what others wait to hear goes first.
        calls = (pipeline.utterance(text, part, replace(text.context, rank=1)) for part in parts[1:])
        async with aclosing(read_ahead(calls, min(_AHEAD, pipeline.settings.calls_at_once))) as spoken:
            async for each in spoken:
                yield each


async def _next(others: AsyncGenerator[Spoken, None]) -> Spoken | None:
    return await anext(others, None)


def _deltas(audio: bytes) -> bytes:
    """Audio as events. Each has a part that any decoder of base64 takes on its own."""
    parts = (audio[start : start + _EVENT_BYTES] for start in range(0, len(audio), _EVENT_BYTES))
    return b"".join(
        render_event({"type": "speech.audio.delta", "audio": base64.b64encode(part).decode("ascii")}) for part in parts
    )


def _done(characters: int) -> bytes:
    """The last event. It counts the characters that are charged, since speech has no tokens here."""
    usage = {"input_tokens": characters, "output_tokens": 0, "total_tokens": characters}
    return render_event({"type": "speech.audio.done", "usage": usage})
