"""A client of live sessions, and speech in the formats that they take."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import numpy as np
import soxr
from numpy.typing import NDArray

from tests.conftest import KEY, Client, bearer
from tests.speech import SAMPLE_RATE, say

PATH = "/v1/realtime?intent=transcription"
TRANSCRIBED = "conversation.item.input_audio_transcription"
Event = dict[str, Any]


def pcm(audio: NDArray[np.float32], rate: int = 24_000) -> bytes:
    """16-bit samples of audio at 16 kHz."""
    samples: NDArray[np.int16] = (soxr.resample(audio, SAMPLE_RATE, rate) * 32767).astype(np.int16)
    return samples.tobytes()


def silence(seconds: float) -> NDArray[np.float32]:
    return np.zeros(int(seconds * SAMPLE_RATE), np.float32)


def spoken() -> NDArray[np.float32]:
    """A sentence between pauses that end an item."""
    return np.concatenate([silence(0.5), say("Good morning everybody."), silence(1.0)])


class Live:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    @property
    def wire(self) -> Any:
        """The connection, for bytes that the client would not send."""
        assert self.socket._response.connection is not None
        return self.socket._response.connection.transport

    async def send(self, kind: str, **fields: Any) -> None:
        await self.socket.send_json({"type": kind, **fields})

    async def configure(self, **given: Any) -> list[Event]:
        """Change options of the session's input."""
        await self.send("session.update", session={"type": "transcription", "audio": {"input": given}})
        return await self.until("session.updated")

    async def say(self, data: bytes, size: int = 4800) -> None:
        for place in range(0, len(data), size):
            await self.send("input_audio_buffer.append", audio=base64.b64encode(data[place : place + size]).decode())

    async def until(self, kind: str) -> list[Event]:
        """The events up to the first one of a kind."""
        told: list[Event] = []
        async with asyncio.timeout(20):
            while not told or told[-1]["type"] != kind:
                message = await self.socket.receive()
                assert message.type is aiohttp.WSMsgType.TEXT, (message, told)
                told.append(json.loads(message.data))
        return told

    async def closed(self) -> int | None:
        """Read to the end; return the code."""
        async with asyncio.timeout(20):
            async for _ in self.socket:
                pass
        return self.socket.close_code


@asynccontextmanager
async def live(client: Client, path: str = PATH, **options: Any) -> AsyncIterator[Live]:
    """A session that has begun."""
    options = {"headers": bearer(KEY), **options}
    async with client.ws_connect(path, **options) as socket:
        yield Live(socket)


async def refused(client: Client, path: str = PATH, **options: Any) -> int:
    """The status of a session that does not begin."""
    try:
        async with live(client, path, **options):
            return 101
    except aiohttp.WSServerHandshakeError as error:
        return error.status
