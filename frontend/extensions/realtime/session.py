"""One live session: reads the client's events, and cuts its audio into items."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from functools import partial

from aiohttp import WSCloseCode

from frontend.audio.decode import SAMPLE_RATE
from frontend.audio.detector import FRAME
from frontend.audio.prepare import SAMPLE_BYTES
from frontend.dispatch.context import RequestContext
from frontend.errors import ApiError, InvalidRequest
from frontend.extensions.realtime import events, protocol
from frontend.extensions.realtime.items import Item
from frontend.extensions.realtime.pipeline import LivePipeline
from frontend.extensions.realtime.protocol import Append, Clear, Commit, Detection, SessionConfig, Update
from frontend.extensions.realtime.transcriber import Transcriber
from frontend.extensions.realtime.turns import FORMATS, FRAME_MS, StreamDetector, Turns
from frontend.extensions.realtime.wire import USUAL_MESSAGE, SessionEnd, Wire
from frontend.http.memory import MemoryReservation
from frontend.observe.record import current

# Seconds of audio in which speech is detected at once, unless an item ends before.
_SLICE_SECONDS = 0.06
# The most of it, so that the event loop is held for milliseconds.
_LONGEST_SLICE_SECONDS = 2.0
# Shortest audio to commit, in samples.
_SHORTEST = SAMPLE_RATE // 10
# Most faulty events of a session.
_MOST_FAULTS = 100
# Seconds for the last answers when the server stops.
_LEAVE_SECONDS = 10.0
_COMMIT_EMPTY = "input_audio_buffer_commit_empty"


class Session:
    def __init__(
        self,
        pipeline: LivePipeline,
        wire: Wire,
        transcriber: Transcriber,
        context: RequestContext,
        memory: MemoryReservation,
        config: SessionConfig,
    ) -> None:
        self._pipeline, self._wire, self._transcriber = pipeline, wire, transcriber
        self._context, self._memory, self._config = context, memory, config
        self._id, self._expires_at = events.new_id("sess"), int(time.time() + pipeline.settings.live_seconds)
        self._detector: StreamDetector | None = None
        self._raw = bytearray()
        # Samples in which speech was detected.
        self._position = 0
        # The latest audio outside of items, int16 at 16 kHz: the padding of the next one.
        self._before = bytearray()
        self._last_item: str | None = None
        self._turns = _turns(config)
        self._faults = 0
        # Bytes for a long message that is parsed.
        self._parsing = 0
        # The client's id of the event that is handled.
        self._event_id: str | None = None
        self._leaving: asyncio.Task[None] | None = None

    async def run(self, leave: Callable[[], None]) -> None:
        """Serve the session until one side ends it, and call ``leave`` then: a model may not stop at once."""
        end: SessionEnd | None = None
        try:
            await self._serve()
        except SessionEnd as ended:
            end = ended
        except ApiError as failure:
            end = SessionEnd(WSCloseCode.POLICY_VIOLATION, failure)
        finally:
            leave()
            await self._transcriber.close()
            current().quantity = self._transcriber.charged_ms
        if end is not None:
            await self._wire.close(end)

    def leave(self) -> None:
        """Answer what has arrived, then end the session, since the server stops."""
        self._leaving = asyncio.create_task(self._finish())

    async def _finish(self) -> None:
        try:
            if self._transcriber.open is not None and self._transcriber.open.speech_end:
                await self._wire.send(*self._commit())
            async with asyncio.timeout(_LEAVE_SECONDS):
                await self._transcriber.finish()
        except (ConnectionError, TimeoutError):
            # The client has gone, or its words take too long.
            pass
        finally:
            self._wire.end(WSCloseCode.GOING_AWAY)

    async def _serve(self) -> None:
        self._memory.add(USUAL_MESSAGE)
        self._wire.note_arrival(self._refuse_arrival)
        await self._send_session("created")
        while True:
            self._event_id = None
            try:
                if not await self._take_next():
                    return
            except InvalidRequest as fault:
                self._faults += 1
                if self._faults > _MOST_FAULTS:
                    raise
                await self._wire.send(events.error(fault, self._event_id))
            await self._transcriber.room()
            self._count_memory()

    async def _take_next(self) -> bool:
        """Wait for a message and handle it; False at the end. No message is kept while the next one is waited for."""
        self._parsing = 0
        message = await self._wire.receive()
        if message is None:
            return False
        if len(message) > USUAL_MESSAGE:
            self._parsing = 2 * len(message)
            self._count_memory()
        event = await self._pipeline.parse(partial(protocol.read, message), len(message), self._context)
        self._event_id = protocol.id_of(event)
        parse = partial(protocol.parse, event, self._config, self._pipeline.settings.served)
        parsed = await self._pipeline.parse(parse, len(message), self._context)
        del message, event, parse
        self._parsing = 0
        await self._handle(parsed)
        return True

    async def _send_session(self, kind: str) -> None:
        await self._wire.send(events.session(kind, self._id, self._config, self._expires_at))

    @property
    def _held_bytes(self) -> int:
        arrived = max(USUAL_MESSAGE, self._wire.arrived_bytes)
        return arrived + self._parsing + len(self._raw) + self._transcriber.held_bytes

    def _refuse_arrival(self) -> None:
        """Count what arrives, and end the session if there is no memory for it."""
        try:
            self._count_memory()
        except ApiError as failure:
            self._wire.end(WSCloseCode.POLICY_VIOLATION, failure)

    def _count_memory(self) -> None:
        self._memory.resize(self._held_bytes)
        # Raises if there is no memory for this.
        self._memory.add(0)

    async def _handle(self, event: protocol.Event) -> None:
        if self._leaving is not None:
            return
        match event:
            case Append(audio):
                self._raw += audio
                while len(self._raw) >= _SLICE_SECONDS * self._bytes_per_second:
                    await self._detect()
                    # A whole recording may have come at once.
                    await self._transcriber.room()
                    self._count_memory()
                    self._wire.check()
            case Commit():
                await self._commit_by_client()
            case Clear():
                self._forget()
                await self._wire.send(events.event("input_audio_buffer.cleared"))
            case Update(config):
                await self._update(config)

    async def _update(self, config: SessionConfig) -> None:
        self._pipeline.transcription.refuse_language(config.model, config.language)
        if (config.audio_format, config.rate) != (self._config.audio_format, self._config.rate):
            await self._detect(last=True)
            self._detector = None
        if config.detection != self._config.detection:
            self._turns = _turns(config)
        self._config = config
        await self._send_session("updated")

    async def _commit_by_client(self) -> None:
        await self._detect(last=True)
        if self._transcriber.open is None and len(self._before) >= _SHORTEST * SAMPLE_BYTES:
            # The client has sent audio, in which nobody speaks.
            self._begin(self._position - len(self._before) // SAMPLE_BYTES, bytes(self._before), [])
        item = self._transcriber.open
        if item is None or item.samples < _SHORTEST:
            raise InvalidRequest("there is no audio to commit: at least 100 ms are needed", code=_COMMIT_EMPTY)
        outgoing = self._commit()
        self._turns = _turns(self._config)
        await self._wire.send(*outgoing)

    def _forget(self) -> None:
        self._raw.clear()
        self._before.clear()
        self._detector, self._turns = None, _turns(self._config)
        self._transcriber.discard()

    async def _detect(self, *, last: bool = False) -> None:
        """Find speech in the audio that has arrived. With ``last``, also in less than a frame."""
        while last and len(self._raw) > _LONGEST_SLICE_SECONDS * self._bytes_per_second:
            await self._detect()
        most = int(_LONGEST_SLICE_SECONDS * self._bytes_per_second)
        data = bytes(self._raw[:most])
        del self._raw[:most]
        if self._detector is None:
            if not data:
                return
            self._detector = StreamDetector(self._config.audio_format, self._config.rate)
        await self._wire.pace(len(data) / self._bytes_per_second)
        frames = await self._pipeline.frames(self._detector, data, self._context, self._transcriber.timer, last=last)
        outgoing, left = [], frames.count
        for samples, probability in zip(frames.samples, frames.probabilities.tolist(), strict=True):
            count = min(left, len(samples))
            left -= count
            outgoing += self._add(samples[:count].tobytes(), probability)
        self._transcriber.grow()
        await self._wire.send(*outgoing)

    def _add(self, audio: bytes, probability: float) -> list[events.Fields]:
        """Add a frame to the open item, which may begin or end with it; return the events to send."""
        if self._leaving is not None:
            return []
        outgoing, turn = [], self._turns.next(probability) if self._turns is not None else None
        if self._transcriber.open is None and (turn == "started" or self._turns is None):
            self._begin(self._position - len(self._before) // SAMPLE_BYTES, bytes(self._before), [])
            outgoing = self._started()
        self._position += len(audio) // SAMPLE_BYTES
        item = self._transcriber.open
        if item is None:
            self._before += audio
            del self._before[: max(0, len(self._before) - self._padding * FRAME * SAMPLE_BYTES)]
            return outgoing
        item.add(audio, probability, self._threshold)
        if turn == "stopped" or item.pauses_late:
            outgoing += self._commit()
            self._turns = _turns(self._config)
            return outgoing
        if item.samples + FRAME > self._pipeline.transcription.window_seconds(item.config.model) * SAMPLE_RATE:
            outgoing += self._cut(item)
        return outgoing

    def _begin(self, start: int, audio: bytes, probabilities: Sequence[float]) -> None:
        """Open an item with the audio that comes before the next frame."""
        self._before.clear()
        item = Item(events.new_id("item"), self._last_item, self._config, start)
        self._last_item, self._transcriber.open = item.id, item
        size = FRAME * SAMPLE_BYTES
        for number, start in enumerate(range(0, len(audio), size)):
            probability = probabilities[number] if number < len(probabilities) else 0.0
            item.add(audio[start : start + size], probability, self._threshold)

    def _cut(self, item: Item) -> list[events.Fields]:
        """Commit most of an item that is as long as the model's window, and go on in a new one."""
        audio, probabilities = item.cut()
        outgoing = self._commit()
        self._begin(item.start + item.samples, audio, probabilities)
        return [*outgoing, *self._started()]

    def _commit(self) -> list[events.Fields]:
        item = self._transcriber.commit()
        stopped = [] if self._turns is None else [events.speech_stopped(item)]
        return [*stopped, *events.committed(item)]

    def _started(self) -> list[events.Fields]:
        item = self._transcriber.open
        return [] if self._turns is None or item is None else [events.speech_started(item)]

    @property
    def _bytes_per_second(self) -> int:
        return self._config.rate * FORMATS[self._config.audio_format][2]

    @property
    def _threshold(self) -> float:
        return (self._config.detection or Detection()).threshold

    @property
    def _padding(self) -> int:
        """Frames before the detected speech that belong to its item."""
        padding_ms = self._config.detection.prefix_padding_ms if self._config.detection is not None else 0
        return math.ceil(padding_ms / FRAME_MS)


def _turns(config: SessionConfig) -> Turns | None:
    detection = config.detection
    return Turns(detection.threshold, detection.silence_duration_ms) if detection is not None else None
