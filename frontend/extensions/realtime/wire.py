"""The socket of a live session: bounded messages, bounded waiting, and a close that the client can read."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import orjson
from aiohttp import WSCloseCode, WSMessage, WSMsgType, web
from aiohttp.http import WebSocketReader

from frontend.concurrency.turnstile import Turnstile
from frontend.config.settings import Settings
from frontend.errors import ApiError, InvalidRequest
from frontend.extensions.realtime import events
from frontend.extensions.realtime.frames import FrameReader
from frontend.extensions.realtime.pace import Pace

# Bytes of a message: four seconds of PCM in base64, for which each session has memory; and the most, as at OpenAI, of
# which 15 MiB may be audio.
USUAL_MESSAGE, _LARGEST_MESSAGE = 256 * 1024, 15 * 1024 * 1024 + 64 * 1024
# Unsent bytes beyond which a sender waits for the reader.
_UNREAD_BYTES = 1024
# Seconds that a client has to answer a close.
_CLOSE_SECONDS = 2.0
_LOOK_SECONDS = 0.02
# Seconds without a message after which a ping is sent. Without one for as long again, the connection is cut.
_PING_SECONDS = 20.0
# A client sends at most this many messages a second in the long run, and twice as many in the first one.
_MESSAGES_A_SECOND = 125
# Seconds of audio that are taken per second, and those that may be ahead of it. Other requests need the models.
_AUDIO_A_SECOND, _AUDIO_AHEAD = 1.25, 10.0
# Short messages that are read meanwhile, since a client may give up if its pings behind them have no answer.
_EARLY_MESSAGES, _EARLY_BYTES = 16, 4096
_ENDS = (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR)
_CONTROLS = (WSMsgType.PING, WSMsgType.PONG)
_EXPIRED = "session_expired"
# Broken messages, of which more may be under way.
_BROKEN = (WSCloseCode.MESSAGE_TOO_BIG, WSCloseCode.PROTOCOL_ERROR)


class Socket(web.WebSocketResponse):
    """aiohttp's socket with our limits. ``request`` is the one that it answers."""

    def __init__(self, request: web.Request) -> None:
        super().__init__(
            timeout=_CLOSE_SECONDS,
            protocols=("realtime",),
            # We count the pongs.
            autoping=False,
            compress=False,
            max_msg_size=_LARGEST_MESSAGE,
            # Decoding the largest message here would hold the event loop for ten milliseconds more.
            decode_text=False,
            writer_limit=_UNREAD_BYTES,
        )
        self._request = request
        self.frames: FrameReader | None = None

    def read_frames(self, reader: WebSocketReader, rest: Callable[[float], None]) -> FrameReader:
        """What the connection reads frames with."""
        self.frames = FrameReader(reader, rest)
        return self.frames

    @property
    def is_cut(self) -> bool:
        """Whether the connection is gone."""
        return self._request.transport is None or self._request.transport.is_closing()

    def cut(self) -> None:
        """End the connection at once."""
        if self._request.transport is not None:
            self._request.transport.abort()

    async def close(self, *, code: int = WSCloseCode.OK, message: bytes = b"", drain: bool = True) -> bool:
        """Close the session, as aiohttp does.

        After a broken message, the rest of it is discarded for a moment: closing with unread bytes would reset the
        connection, and the client could not read the reason.
        """
        if not self.closed and code in _BROKEN:
            with suppress(ConnectionError):
                await self.send_frame(code.to_bytes(2, "big") + message, WSMsgType.CLOSE)
                for _ in range(round(_CLOSE_SECONDS / _LOOK_SECONDS)):
                    if self.is_cut:
                        break
                    await asyncio.sleep(_LOOK_SECONDS)
        return await super().close(code=code, message=message, drain=drain)


class SessionEnd(Exception):  # noqa: N818 - not every end is an error
    """The server ends the session, with an error event if there is a ``failure``."""

    def __init__(self, code: int, failure: ApiError | None = None) -> None:
        super().__init__(code)
        self.code, self.failure = code, failure


class Wire:
    """Sends events to the client, and receives its messages, of which one is waited for at a time."""

    def __init__(self, socket: Socket, settings: Settings, turnstile: Turnstile) -> None:
        self._turnstile = turnstile
        self._socket, self._loop = socket, asyncio.get_running_loop()
        self._write_seconds, self._idle_seconds = settings.write_seconds, settings.live_idle_seconds
        self._ends_at = self._loop.time() + settings.live_seconds
        self._received_at = self._loop.time()
        self._messages, self._audio = Pace(_MESSAGES_A_SECOND, _MESSAGES_A_SECOND), Pace(_AUDIO_A_SECOND, _AUDIO_AHEAD)
        # Messages that came while the session rested.
        self._early = deque[WSMessage]()
        self._end: SessionEnd | None = None
        self._waiting: asyncio.Timeout | None = None
        # Keeps events together that are sent together.
        self._sending = asyncio.Lock()

    @property
    def arrived_bytes(self) -> int:
        """Bytes of messages that wait, or are not complete yet."""
        return self._socket.frames.held if self._socket.frames is not None else 0

    def note_arrival(self, grown: Callable[[], None]) -> None:
        """Call ``grown`` whenever more of them have arrived."""
        if self._socket.frames is not None:
            self._socket.frames.grown = grown

    @property
    def is_open(self) -> bool:
        return not (self._socket.closed or self._socket.is_cut)

    def end(self, code: int, failure: ApiError | None = None) -> None:
        """Let ``receive`` raise ``SessionEnd``. A second call changes nothing."""
        self._end = self._end or SessionEnd(code, failure)
        if self._waiting is not None:
            self._waiting.reschedule(self._loop.time())

    def check(self) -> None:
        """Raise ``SessionEnd`` if the session is to end, while work that takes long keeps ``receive`` from doing so.

        Raises ``ConnectionError`` if the client has closed the connection.
        """
        if self._end is not None:
            raise self._end
        if self._early and self._early[-1].type in _ENDS:
            raise ConnectionResetError("the client has gone")

    async def send(self, *told: events.Fields) -> None:
        """Send events in order. A client that reads none of them for ``write_seconds`` is cut off.

        Raises ``ConnectionError`` if the connection is gone.
        """
        async with self._sending:
            for event in told:
                await self._frame(orjson.dumps(event), WSMsgType.TEXT)

    async def _frame(self, data: bytes, kind: WSMsgType) -> None:
        try:
            async with asyncio.timeout(self._write_seconds):
                await self._socket.send_frame(data, kind)
        except TimeoutError:
            self._socket.cut()
            raise ConnectionResetError("the client does not read") from None

    async def close(self, end: SessionEnd) -> None:
        """Tell the client why the session ends, and close the connection."""
        with suppress(ConnectionError, TimeoutError):
            if end.failure is not None:
                await self.send(events.error(end.failure, None))
            async with asyncio.timeout(self._write_seconds):
                await self._socket.close(code=end.code)

    async def receive(self) -> bytes | None:
        """The client's next message, which may not be UTF-8; None at the end of the connection.

        Raises ``SessionEnd`` when the server ends the session, and ``InvalidRequest`` for a binary message.
        """
        pinged, self._received_at = False, self._loop.time()
        while True:
            due = self._loop.time() + _PING_SECONDS
            try:
                message = await self._next(due)
            except TimeoutError:
                if self._loop.time() < due:
                    continue
                if pinged:
                    self._socket.cut()
                    return None
                pinged = True
                await self._frame(b"", WSMsgType.PING)
                continue
            pinged = False
            if message.type in _ENDS:
                return None
            await self._turn()
            if message.type in _CONTROLS:
                await self._answer(message)
            else:
                self._received_at = self._loop.time()
                if self._socket.frames is not None:
                    self._socket.frames.taken()
                if message.type is not WSMsgType.TEXT:
                    raise InvalidRequest("events are JSON in text messages", code="invalid_json")
                return bytes(message.data)

    async def _turn(self) -> None:
        """Wait if messages come too fast, and while other sessions have their turn."""
        if (wait := self._messages.wait(1)) > 0:
            await asyncio.sleep(wait)
        await self._turnstile.turn()

    async def _answer(self, control: WSMessage) -> None:
        if control.type is WSMsgType.PING:
            await self._frame(control.data, WSMsgType.PONG)

    async def pace(self, seconds: float) -> None:
        """Wait before so much audio is taken, if too much was. Pings are answered, unless long messages come."""
        if (wait := self._audio.wait(seconds)) <= 0:
            return
        try:
            async with asyncio.timeout(wait) as self._waiting:
                while self._takes_early():
                    message = await self._socket.receive()
                    if message.type in _CONTROLS:
                        await self._turn()
                        await self._answer(message)
                    else:
                        self._early.append(message)
                if self._early[-1].type not in _ENDS:
                    await asyncio.sleep(wait)
        except TimeoutError:
            pass
        finally:
            self._waiting = None
        self.check()

    def _takes_early(self) -> bool:
        """Whether another message may be read before its turn."""
        if not self._early:
            return True
        last = self._early[-1]
        is_short = last.type is WSMsgType.TEXT and len(last.data) <= _EARLY_BYTES
        return is_short and len(self._early) < _EARLY_MESSAGES

    async def _next(self, due: float) -> WSMessage:
        """A message of any type, or ``TimeoutError`` at ``due`` or after ``end``."""
        if self._early:
            return self._early.popleft()
        now, idle_at = self._loop.time(), self._received_at + self._idle_seconds
        if now >= self._ends_at:
            raise SessionEnd(WSCloseCode.OK, InvalidRequest("the session has reached its longest time", code=_EXPIRED))
        if now >= idle_at:
            raise SessionEnd(WSCloseCode.OK, InvalidRequest("no event came for too long", code=_EXPIRED))
        self.check()
        try:
            async with asyncio.timeout_at(min(due, self._ends_at, idle_at)) as self._waiting:
                return await self._socket.receive()
        finally:
            self._waiting = None
