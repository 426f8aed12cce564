"""What callers send: each operation as it is meant, streams, live sessions, and callers who do harm."""

import asyncio
import base64
import json
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import aiohttp
import numpy as np
import soxr

from client.recordings import SAMPLE_RATE, recordings
from scripts.benchmark.common.inputs import calls, clip
from tests.faults.cases_audio import speech
from tests.soak.product import PRICES
from tests.upstream import USAGE, chat

EMBED, RERANK, SPEAK, HEAR = "/v1/embeddings", "/v1/rerank", "/v1/audio/speech", "/v1/audio/transcriptions"
CHAT = "/v1/chat/completions"
_LIVE = "/v1/realtime?intent=transcription&model=stt-1"
_TRANSCRIBED = "conversation.item.input_audio_transcription"
_LIVE_RATE, _CHUNK_SECONDS = 24_000, 0.2
_CLIPS, _PEOPLE = 12, 8
_DAMAGED = ("mp4", "webm", "flac", "ogg-opus", "mp3")
# Micro-CHF of a second of audio and of a character.
_SECOND, _CHARACTER = 100, 5


class LeftError(Exception):
    """The caller hung up, who may pay and may not."""


class BrokenError(Exception):
    """An answer with status 200 that ended before its end."""


@dataclass
class Caller:
    """One call: ``status`` and ``retry_after`` of its answer, and what it owes, by the names of its charges."""

    session: aiohttp.ClientSession
    url: str
    headers: Mapping[str, str]
    rng: random.Random
    status: int = 0
    retry_after: str = ""
    owes: dict[str, int] = field(default_factory=dict)
    # Charges that may be there: of live items that have begun.
    may_owe: set[str] = field(default_factory=set)

    @property
    def id(self) -> str:
        return self.headers["X-Request-Id"]

    async def ask(self, path: str, data: Any = None, **body: Any) -> bytes:
        """Send a JSON body or a form, and return the answer; empty unless the status is 200."""
        json_body = body if data is None else None
        async with self.session.post(self.url + path, json=json_body, data=data, headers=self.headers) as response:
            content = await response.read()
            self.noted(response)
        return content if response.status == 200 else b""

    def noted(self, response: aiohttp.ClientResponse) -> None:
        self.status, self.retry_after = response.status, response.headers.get("Retry-After", "")

    def owe(self, micro_chf: float) -> None:
        self.owes[self.id] = round(micro_chf)


Kind = Callable[[Caller], Awaitable[None]]


@cache
def _calls(operation: str) -> list[Any]:
    return calls(operation, 200, 1)


async def _tokens(caller: Caller, path: str, operation: str, model: str) -> None:
    body = caller.rng.choice(_calls(operation)).body
    if operation == "rerank":
        body = {**body, "documents": body["documents"][: caller.rng.randint(1, 8)]}
    if answer := await caller.ask(path, **body):
        caller.owe(json.loads(answer)["usage"]["total_tokens"] * PRICES[model])


async def speak(caller: Caller) -> None:
    text = caller.rng.choice(_calls("speech")).body["input"][:200]
    voice, kind = caller.rng.choice(("ryan", "amy", "paola")), caller.rng.choice(("wav", "mp3"))
    if await caller.ask(SPEAK, model="tts-1", input=text, voice=voice, response_format=kind):
        caller.owe(len(text) * _CHARACTER)


async def stream_speech(caller: Caller) -> None:
    """Events, of which the last one says that nothing is missing."""
    text = caller.rng.choice(_calls("speech")).body["input"][:300]
    body = {"model": "tts-1", "input": text, "voice": "ryan", "stream_format": "sse"}
    if answer := await caller.ask(SPEAK, **body):
        if b"speech.audio.done" not in answer:
            raise BrokenError
        caller.owe(len(text) * _CHARACTER)


async def _hear(caller: Caller, path: str = HEAR, file: str = "file", **fields: str) -> None:
    wav, seconds = clip(caller.rng.randrange(_CLIPS), 2.0, 8.0)
    form = aiohttp.FormData(fields)
    form.add_field(file, wav, filename="clip.wav")
    if answer := await caller.ask(path, form):
        if fields.get("stream") and b"transcript.text.done" not in answer:
            raise BrokenError
        # Without a word it is free.
        if re.search(rb'"text": ?"[^"]', answer):
            caller.owe(seconds * _SECOND)


async def synthesize(caller: Caller) -> None:
    text = caller.rng.choice(_calls("speech")).body["input"][:80]
    if await caller.ask("/api/v1/audio/synthesize", text=text, voice="ryan", format="mp3"):
        caller.owe(len(text) * _CHARACTER)


async def converse(caller: Caller, is_streamed: bool) -> None:
    if answer := await caller.ask(CHAT, **chat("one two three", stream=is_streamed)):
        if is_streamed and b"[DONE]" not in answer:
            raise BrokenError
        caller.owe(USAGE["total_tokens"] * PRICES["chat"])


@cache
def _spoken(number: int) -> bytes:
    """Some seconds of a person and a pause, as live sessions take them."""
    samples = np.concatenate([recordings("en")[number].samples()[: 5 * SAMPLE_RATE], np.zeros(SAMPLE_RATE, np.float32)])
    sound: bytes = (soxr.resample(samples, SAMPLE_RATE, _LIVE_RATE) * 32767).astype(np.int16).tobytes()
    return sound


async def live(caller: Caller) -> None:
    """Two utterances in real time, of which every word is waited for."""
    size, items = int(_LIVE_RATE * _CHUNK_SECONDS) * 2, set[str]()
    headers = {name: value for name, value in caller.headers.items() if name != "X-Request-Id"}
    async with caller.session.ws_connect(caller.url + _LIVE, headers=headers) as socket:
        caller.status = 200

        async def listen() -> None:
            while message := await socket.receive():
                if message.type is not aiohttp.WSMsgType.TEXT:
                    raise BrokenError
                event = json.loads(message.data)
                if event["type"] in ("error", f"{_TRANSCRIBED}.failed"):
                    raise BrokenError
                if event["type"] == "input_audio_buffer.speech_started":
                    items.add(event["item_id"])
                    caller.may_owe.add(event["item_id"])
                if event["type"] == f"{_TRANSCRIBED}.completed":
                    items.discard(event["item_id"])
                    if charged := event["usage"]["seconds"]:
                        caller.owes[event["item_id"]] = round(charged * _SECOND)
                    if not items and sent.is_set():
                        return

        sent, listening = asyncio.Event(), asyncio.create_task(listen())
        try:
            data = b"".join(_spoken(caller.rng.randrange(_PEOPLE)) for _ in range(2))
            for place in range(0, len(data), size):
                audio = base64.b64encode(data[place : place + size]).decode()
                await socket.send_json({"type": "input_audio_buffer.append", "audio": audio})
                await asyncio.sleep(_CHUNK_SECONDS)
            sent.set()
            if not items and caller.owes:
                return
            await listening
        finally:
            listening.cancel()


async def damaged(caller: Caller) -> None:
    """A file that breaks off, or lies, or is none."""
    kind = caller.rng.choice(_DAMAGED)
    content = bytearray(speech(kind))
    if caller.rng.random() < 0.5:
        del content[caller.rng.randrange(len(content)) :]
    for _ in range(caller.rng.randint(1, 40)):
        if content:
            content[caller.rng.randrange(len(content))] = caller.rng.randrange(256)
    form = aiohttp.FormData()
    form.add_field("file", bytes(content), filename="a")
    if await caller.ask(HEAR, form):
        # What is left of it may have words.
        caller.may_owe.add(caller.id)


_NONSENSE: list[dict[str, Any]] = [{"input": []}, {"input": [""]}, {"input": "a", "top": 1}, {"input": "a", "model": 5}]


async def nonsense(caller: Caller) -> None:
    await caller.ask(EMBED, **caller.rng.choice(_NONSENSE))


async def unknown(caller: Caller) -> None:
    caller.headers = {**caller.headers, "Authorization": "Bearer nobody"}
    await caller.ask(EMBED, input="a")


async def limited(caller: Caller) -> None:
    if answer := await caller.ask(EMBED, input="a word"):
        caller.owe(json.loads(answer)["usage"]["total_tokens"] * PRICES["embed-m3"])


async def hang_up(caller: Caller) -> None:
    """Leave in the middle of some operation."""
    streamed = partial(converse, is_streamed=True)
    kind: Kind = caller.rng.choice((embed, rerank, speak, stream_speech, hear, streamed))
    try:
        await asyncio.wait_for(kind(caller), caller.rng.uniform(0.005, 0.6))
    except TimeoutError:
        raise LeftError from None


async def read_slowly(caller: Caller) -> None:
    """Read at 40 KB a second."""
    text = caller.rng.choice(_calls("speech")).body["input"][:300]
    body = {"model": "tts-1", "input": text, "voice": "ryan", "response_format": "wav"}
    async with caller.session.post(caller.url + SPEAK, json=body, headers=caller.headers) as response:
        caller.noted(response)
        while await response.content.read(8192):  # noqa: ASYNC110 - each turn reads
            await asyncio.sleep(0.2)
    if response.status == 200:
        caller.owe(len(text) * _CHARACTER)


def prepare() -> None:
    """Make what callers send, which takes seconds."""
    for operation in ("embeddings", "rerank", "speech"):
        _calls(operation)
    for number in range(_CLIPS):
        clip(number, 2.0, 8.0)
    for number in range(_PEOPLE):
        _spoken(number)
    for kind in _DAMAGED:
        speech(kind)


embed = partial(_tokens, path=EMBED, operation="embeddings", model="embed-m3")
rerank = partial(_tokens, path=RERANK, operation="rerank", model="rerank-v2-m3")
hear = partial(_hear, model="stt-1", response_format="verbose_json")
OK = frozenset({200})
# Name to what is done, how often, and the statuses that its answer may have.
KINDS: Mapping[str, tuple[Kind, int, frozenset[int]]] = {
    "embeddings": (embed, 30, OK),
    "rerank": (rerank, 15, OK),
    "speech": (speak, 12, OK),
    "transcriptions": (hear, 10, OK),
    "hd transcriptions": (partial(_hear, model="stt-1-hd"), 2, OK),
    "streamed speech": (stream_speech, 5, OK),
    "streamed transcripts": (partial(_hear, model="stt-1", stream="true"), 4, OK),
    "mobile speech": (synthesize, 4, OK),
    "mobile transcriptions": (partial(_hear, path="/api/v1/audio/transcribe", file="audio"), 2, OK),
    "chat": (partial(converse, is_streamed=False), 4, OK),
    "streamed chat": (partial(converse, is_streamed=True), 4, OK),
    "live sessions": (live, 2, OK),
    "hang-ups": (hang_up, 8, OK),
    "slow readers": (read_slowly, 3, OK),
    "damaged files": (damaged, 6, frozenset({200, 400, 415})),
    "nonsense": (nonsense, 4, frozenset({400})),
    "unknown keys": (unknown, 3, frozenset({401})),
    "a key at its limit": (limited, 4, frozenset({200, 429})),
}
# Kinds whose answer is in pieces: what fails behind the frontend may break them off.
IN_PIECES = frozenset(
    {"streamed speech", "streamed transcripts", "chat", "streamed chat", "live sessions", "hang-ups", "slow readers"}
)
