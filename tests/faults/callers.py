"""Callers without a pause or a retry: of one operation, or of all through the official OpenAI client."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
import httpx2
import openai

_EMBED, _RERANK, _SPEAK, _HEAR = "embeddings", "rerank", "speech", "transcriptions"
# Operations of each 20 calls.
_MIX = (_HEAR, _SPEAK, *[_RERANK] * 6, *[_EMBED] * 12)


@dataclass
class Answer:
    """A call's start and end in seconds, its status, and what it says if that is not 200."""

    begun: float
    ended: float
    status: int
    error: str = ""


class Load:
    """Callers of an embedding that call again as soon as they are answered."""

    def __init__(self, session: aiohttp.ClientSession, url: str, text: str) -> None:
        self._session, self._url, self._body = session, f"{url}/v1/embeddings", {"input": text}
        self._callers: list[asyncio.Task[None]] = []
        self._going = True
        self.answers: list[Answer] = []

    def start(self, count: int) -> None:
        self._callers = [asyncio.create_task(self._ask_on()) for _ in range(count)]

    async def ask(self) -> None:
        begun = time.monotonic()
        async with self._session.post(self._url, json=self._body) as response:
            text = await response.text()
        self.answers.append(Answer(begun, time.monotonic(), response.status, "" if response.ok else text))

    async def _ask_on(self) -> None:
        while self._going:
            await self.ask()

    async def stop(self) -> None:
        """Each caller gets its last answer."""
        self._going = False
        await asyncio.gather(*self._callers)


class Callers:
    """``count`` clients of ``url``; every other one keeps its connection, the rest take a new one for each request.

    ``sound`` is what they have transcribed: without it, they call the other operations.
    """

    def __init__(self, url: str, key: str, count: int, sound: bytes = b"") -> None:
        self._url, self._key, self._count, self._sound = url, key, count, sound
        self._stop = False
        self.answered: Counter[str] = Counter()
        self.lost: list[str] = []

    async def run(self) -> None:
        """Until ``stop``; what has begun is waited for."""
        await asyncio.gather(*(self._call_on(number) for number in range(self._count)))

    def stop(self) -> None:
        self._stop = True

    async def _call_on(self, number: int) -> None:
        limits = httpx2.Limits(max_keepalive_connections=None if number % 2 else 0)
        http = openai.DefaultAsyncHttpxClient(limits=limits, trust_env=False)
        async with openai.AsyncOpenAI(
            base_url=f"{self._url}/v1", api_key=self._key, max_retries=0, timeout=120, http_client=http
        ) as client:
            for turn in itertools.count(number):
                if self._stop:
                    return
                operation = _MIX[turn % len(_MIX)]
                try:
                    await self._call(client, operation)
                    self.answered[operation] += 1
                except openai.OpenAIError as error:
                    self.lost.append(f"{'kept' if number % 2 else 'new'} {operation}: {error!r} {error.__cause__!r}")

    async def _call(self, client: openai.AsyncOpenAI, operation: str) -> None:
        if operation == _EMBED:
            await client.embeddings.create(model="embed-m3", input="a word")
        elif operation == _SPEAK:
            await client.audio.speech.create(model="tts-1", voice="amy", input="Hi.")
        elif operation == _HEAR and self._sound:
            await client.audio.transcriptions.create(model="stt-1", file=("a.wav", self._sound))
        else:
            body: Mapping[str, object] = {"query": "who", "documents": ["she", "he"]}
            await client.post("/rerank", cast_to=object, body=body)
