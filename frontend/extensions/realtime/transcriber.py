"""Transcribes the items of a session: passes over the open item, a last pass over each committed one, and bills."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from aiohttp import WSCloseCode

from frontend.access.throttles import WorkTimer
from frontend.audio.decode import SAMPLE_RATE
from frontend.dispatch.context import RequestContext
from frontend.errors import ApiError, BadGateway, InsufficientQuota, Internal, RateLimited, Unauthorized
from frontend.extensions.realtime import events
from frontend.extensions.realtime.agreement import TimedWord, is_rushed, repeats_itself
from frontend.extensions.realtime.items import Item, milliseconds
from frontend.extensions.realtime.pipeline import Answer, LivePipeline
from frontend.extensions.realtime.stretches import History, Stretch
from frontend.extensions.realtime.wire import Wire
from frontend.observe.logs import log
from frontend.operations.transcription.assembly import LITTLE_SPEECH, is_invented

# Samples of new audio between two passes, and of a first one.
_STEP = SAMPLE_RATE // 4
_FIRST = SAMPLE_RATE
# Samples without speech after which a pass may begin early, since the item is about to end.
_PAUSE = SAMPLE_RATE // 4
# Samples by which the reservation of an open item grows.
_RESERVED = 5 * SAMPLE_RATE
# Most samples of committed items that wait. Beyond, the session reads no more.
_MOST_WAITING = 60 * SAMPLE_RATE
# Errors that end a session.
_FATAL = (InsufficientQuota, Unauthorized, RateLimited)


class Transcriber:
    """One pass of a session is under way at a time. ``key`` is the API key, which is checked for each item."""

    def __init__(self, pipeline: LivePipeline, wire: Wire, context: RequestContext, key: str) -> None:
        self._pipeline, self._wire, self._context, self._key = pipeline, wire, context, key
        self.open: Item | None = None
        self._committed: deque[Item] = deque()
        self._working: asyncio.Task[None] | None = None
        # The pass over the open item, and whether the model has it.
        self._interim: asyncio.Task[Answer] | None = None
        self._interim_sent = False
        self._fits = asyncio.Event()
        self._fits.set()
        self.timer: WorkTimer = pipeline.unbilled.timer(context.key)
        self._history = History()
        # Milliseconds charged so far.
        self.charged_ms = 0

    @property
    def held_bytes(self) -> int:
        items = (*self._committed, *([self.open] if self.open else []))
        return self._history.held_bytes + sum(len(item.audio) for item in items)

    def grow(self) -> None:
        """Begin a pass if the open item has enough new audio."""
        if self._is_due() and (self._working is None or self._working.done()):
            self._working = asyncio.create_task(self._work())

    def commit(self) -> Item:
        """Let the open item have its last pass. It takes the place of an interim one that waits for the model."""
        assert self.open is not None
        item, self.open = self.open, None
        self._committed.append(item)
        # A model may be unable to stop a call that it has.
        if self._interim is not None and not self._interim_sent:
            self._interim.cancel()
        self._show_room()
        self.grow()
        return item

    def discard(self) -> None:
        """Forget the open item. What the client has read of it is charged."""
        if self.open is not None:
            item, self.open = self.open, None
            if self._interim is not None:
                self._interim.cancel()
            self._leave(item)

    async def room(self) -> None:
        """Wait while too much audio waits."""
        await self._fits.wait()

    async def finish(self) -> None:
        """Wait until all committed items are answered."""
        if self._working is not None:
            await asyncio.wait((self._working,))

    async def close(self) -> None:
        """Cancel all work, and charge what the client has read."""
        if self._working is not None:
            self._working.cancel()
        self.discard()
        while self._committed:
            self._leave(self._committed.popleft())
        await self.finish()

    def _show_room(self) -> None:
        if sum(item.samples for item in self._committed) > _MOST_WAITING and self._wire.is_open:
            self._fits.clear()
        else:
            self._fits.set()

    def _is_due(self) -> bool:
        item = self.open
        if self._committed:
            return True
        if item is None or not item.speech_end or item.samples < _FIRST:
            return False
        new, uncovered = item.samples - item.tried, not item.covers(item.tried)
        pauses = uncovered and item.samples - item.speech_end >= _PAUSE
        return pauses or (new >= _STEP and (uncovered or not item.agreement.is_settled))

    async def _work(self) -> None:
        """Passes until there is nothing to do."""
        try:
            while self._is_due():
                if self._committed:
                    await self._complete(self._committed[0])
                    self._committed.popleft()
                    self._show_room()
                elif self.open is not None:
                    await self._transcribe_open(self.open)
        except ConnectionError:
            pass
        except ApiError as failure:
            self._wire.end(WSCloseCode.POLICY_VIOLATION, failure)
        except Exception:
            log.exception("unforeseen error")
            self._wire.end(WSCloseCode.INTERNAL_ERROR, Internal("an internal error occurred"))
        finally:
            self._fits.set()

    async def _words_of_open(self, item: Item, stretch: Stretch) -> Sequence[TimedWord] | None:
        """The words of an interim pass; None if ``commit`` or ``discard`` has cancelled it."""

        def sent() -> None:
            self._interim_sent = True

        self._interim_sent = False
        self._interim = asyncio.create_task(self._pipeline.words(item.config, stretch, self._context, sent))
        try:
            await asyncio.wait((self._interim,))
            if self._interim.cancelled():
                return None
            return _words(item, self._interim.result())
        finally:
            self._interim.cancel()
            self._interim = None

    async def _transcribe_open(self, item: Item) -> None:
        """A pass over the open item. New words are sent if the pass before had them too, or a pause follows them."""
        try:
            await self._reserve_ahead(item)
            stretch = self._history.recent(item)
            item.tried = stretch.end
            words = await self._words_of_open(item, stretch)
            # It may have grown before the pass began.
            await self._reserve(item, min(stretch.end, item.samples))
        except _FATAL:
            raise
        except ApiError:
            # The model is away or busy. The next pass comes with more audio.
            item.tried = item.samples
            return
        # What was cut off meanwhile belongs to the next item.
        if words is None or stretch.end > item.samples or is_rushed(words):
            return
        if text := item.agreement.add(words, complete=item.covers(stretch.end)):
            item.sent = stretch.end
            await self._wire.send(events.delta(item, text))

    async def _words_of_whole(self, item: Item) -> Sequence[TimedWord]:
        """The words of a last pass."""
        is_short = item.spoken_seconds < LITTLE_SPEECH
        if not self._history.is_empty and (is_short or not self._history.follows(item)):
            # It may be no speech, or in another language than what was said before.
            words = await self._words_after(item, History())
            if not (words and self._history.follows(item)):
                return words
        words = await self._words_after(item, self._history)
        if self._history.follows(item) and (not words or repeats_itself(words)):
            # What was said before may be the reason.
            return await self._words_after(item, History())
        return words

    async def _words_after(self, item: Item, history: History) -> Sequence[TimedWord]:
        stretch = history.whole(item, self._pipeline.transcription.window_seconds(item.config.model))
        return _words(item, await self._pipeline.words(item.config, stretch, self._context, None))

    async def _complete(self, item: Item) -> None:
        """The last pass over an item, its bill and its transcript. Audio without words is free."""
        charged = 0
        try:
            if item.speech_end:
                await self._reserve(item, item.samples)
                rest = item.agreement.finish(await self._words_of_whole(item))
                if item.agreement.words:
                    self._history.add(item, item.agreement.words)
                if not self._wire.is_open:
                    raise ConnectionResetError
                if item.agreement.words:
                    charged = self._charge(item, item.samples)
                elif item.bill is not None:
                    item.bill.release()
                    windows = [item.samples / SAMPLE_RATE]
                    self.timer.add(self._pipeline.transcription.seconds_for(item.config.model, windows))
                if rest:
                    await self._wire.send(events.delta(item, rest))
        except _FATAL:
            raise
        except ApiError as failure:
            if item.bill is not None:
                item.bill.release()
            await self._wire.send(events.failed(item, failure))
            return
        await self._wire.send(events.completed(item, charged))

    async def _reserve_ahead(self, item: Item) -> None:
        """Reserve for some more audio than an open item has, so that few passes reserve; or for what it has."""
        window = round(self._pipeline.transcription.window_seconds(item.config.model) * SAMPLE_RATE)
        try:
            await self._reserve(item, min(window, -(-item.samples // _RESERVED) * _RESERVED))
        except InsufficientQuota:
            await self._reserve(item, item.samples)

    async def _reserve(self, item: Item, samples: int) -> None:
        """Reserve for this much of an item, unless that is done."""
        if item.bill is not None:
            await self._pipeline.extend(item.bill, self._context, samples)
            return
        item.bill = await self._pipeline.reserve(item, self._key, self._context, samples)
        if item.left:
            item.bill.release()

    def _charge(self, item: Item, samples: int) -> int:
        """Charge an item, and return the milliseconds. Raises ``BadGateway`` if the charge cannot be written."""
        assert item.bill is not None
        charged = milliseconds(samples)
        item.bill.settle(charged)
        item.bill.charge()
        self.charged_ms += charged
        self.timer.paid()
        self.timer = self._pipeline.unbilled.timer(self._context.key)
        return charged

    def _leave(self, item: Item) -> None:
        """End an item without its last pass: the client pays for the audio whose words it has read.

        What cannot be charged is free.
        """
        item.left = True
        if item.bill is not None:
            with suppress(BadGateway):
                if item.sent and not item.bill.charged:
                    self._charge(item, min(item.sent, item.samples))
            item.bill.release()


def _words(item: Item, answer: Answer) -> Sequence[TimedWord]:
    """The words of an answer, and none if nobody said them. Notes their language."""
    item.detected_language = answer.language
    return [] if is_invented(item.spoken_seconds, answer.no_speech_prob) else answer.words
