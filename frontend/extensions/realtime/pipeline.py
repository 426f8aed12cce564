"""What all live sessions share: the models, the threads that detect speech, the ledger, and the number of sessions."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from frontend.access.caller import Caller, Identifies
from frontend.access.throttles import UnbilledWorkThrottle, WorkTimer
from frontend.billing.bill import Bill, Billing, IdempotencyKey
from frontend.billing.charges import Charges
from frontend.concurrency.turnstile import Turnstile
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.errors import RateLimited
from frontend.extensions.metrics import LIVE_SESSIONS
from frontend.extensions.realtime.agreement import TimedWord
from frontend.extensions.realtime.items import Item, milliseconds
from frontend.extensions.realtime.protocol import SessionConfig
from frontend.extensions.realtime.stretches import Stretch
from frontend.extensions.realtime.turns import Frames, StreamDetector
from frontend.extensions.realtime.wire import USUAL_MESSAGE
from frontend.operations.transcription.assembly import WORDS
from frontend.operations.transcription.pipeline import TranscriptionPipeline, model_inputs
from frontend.tritons.inference import Inputs

PATH = "/v1/realtime"
# Within a key, passes over speech that goes on wait for all other calls.
_INTERIM_RANK = 2
T = TypeVar("T")
_RETRY_AFTER = "10"
# Seconds between openings. One takes about 2 ms: clients who open sessions all the time leave time for other requests.
_OPENING_SECONDS = 0.005
# Messages of all sessions per iteration of the event loop. One takes about 0.1 ms.
_MESSAGES_AT_ONCE = 4


@dataclass(frozen=True)
class Answer:
    """What the model transcribed: words, their language, and the probability that it was no speech."""

    words: list[TimedWord]
    language: str
    no_speech_prob: float


@dataclass(frozen=True)
class LivePipeline:
    """The parts that sessions use. ``keys`` finds the caller of a key, which may be revoked during a session."""

    settings: Settings
    transcription: TranscriptionPipeline
    threads: WorkerQueue
    unbilled: UnbilledWorkThrottle
    charges: Charges
    keys: Identifies
    turnstile: Turnstile = field(default_factory=lambda: Turnstile(_MESSAGES_AT_ONCE))
    _open: Counter[str] = field(default_factory=Counter)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def admitted(self, caller: Caller) -> AsyncIterator[ExitStack]:
        """Count a session, and wait until it may open. Raises ``RateLimited`` if the key has too many.

        It counts until the end, or until what this yields is closed.
        """
        if self._open[caller.id] >= self.settings.live_sessions:
            message = f"too many live sessions of this key at once (at most {self.settings.live_sessions})"
            raise RateLimited(message, headers={"Retry-After": _RETRY_AFTER})
        with ExitStack() as counted:
            self._open[caller.id] += 1
            counted.callback(self._leave, caller.id)
            async with self._opening:
                await asyncio.sleep(_OPENING_SECONDS)
            counted.enter_context(LIVE_SESSIONS.labels(caller.tier).track_inprogress())
            yield counted

    def _leave(self, key: str) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]

    async def frames(
        self, detector: StreamDetector, data: bytes, context: RequestContext, timer: WorkTimer, *, last: bool
    ) -> Frames:
        """Detect speech in a thread. A key with mostly silence is slowed down, and then refused."""
        async with self.unbilled.paced(context.key):
            used = (timer.measure(),)
            return await self.threads.run_with(used, self._context(context), detector.detect, data, last=last)

    async def words(
        self, config: SessionConfig, stretch: Stretch, context: RequestContext, sent: Callable[[], None] | None
    ) -> "Answer":
        """The item's words up to the end of a stretch, with times from the item's start.

        With ``sent``, which is called when the model's turn comes, the call waits for others of the key.
        """

        def inputs() -> Inputs:
            if sent is not None:
                sent()
            return model_inputs(stretch.audio, config.language, f"{config.prompt} {stretch.context}".strip())

        rank = context.rank if sent is None else _INTERIM_RANK
        context = replace(self._context(context), rank=rank)
        arrays = await self.transcription.transcribe_window(config.model, stretch.seconds, inputs, context)
        starts, ends, texts, _ = (arrays[name].reshape(-1).tolist() for name in WORDS)
        words = [
            TimedWord(text.decode("utf-8", "replace"), start, end)
            for text, start, end in zip(texts, starts, ends, strict=True)
        ]
        return Answer(stretch.words(words), arrays["language"].item().decode(), arrays["no_speech_prob"].item())

    async def parse(self, parses: Callable[[], T], size: int, context: RequestContext) -> T:
        """Parse a message of ``size`` bytes: a long one in a thread, because it takes long."""
        return parses() if size <= USUAL_MESSAGE else await self.threads.run(self._context(context), parses)

    async def reserve(self, item: Item, token: str, context: RequestContext, samples: int) -> Bill:
        """Reserve money for an item. Raises ``Unauthorized`` for a key that was revoked, ``InsufficientQuota``, and
        ``BadGateway`` if charges cannot be written.
        """
        caller = await self.keys.identify(token)
        key = IdempotencyKey(item.id, PATH, b"")
        billing = Billing(self.charges, self.settings.prices, caller, self._context(context), lambda: key)
        return await billing.reserve(item.config.model, milliseconds(samples)).__aenter__()

    async def extend(self, bill: Bill, context: RequestContext, samples: int) -> None:
        """Reserve for an item that has grown to ``samples``. Raises ``InsufficientQuota`` and ``BadGateway``."""
        await bill.extend(milliseconds(samples), self._context(context).deadline)

    def _context(self, context: RequestContext) -> RequestContext:
        """The context of one call of a session."""
        own = replace(context)
        own.restart(self.settings.request_seconds)
        return own
