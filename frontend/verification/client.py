"""The API as its callers meet it: one question at a time, asked again where the server is busy."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import aiohttp
import numpy as np
import orjson
from numpy.typing import NDArray

_ANSWER_SECONDS = 900.0
_CONNECT_SECONDS = 30.0
_BUSY = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
_ATTEMPTS = 4
_LONGEST_PAUSE = 60.0
_NO_MONEY = "insufficient_quota"
_NO_RIGHT = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class CannotAskError(Exception):
    """The server is not there, or the key is not its own; the message is a sentence."""


class RefusedError(Exception):
    """The server answers a question with an error, or with what the API does not answer.

    ``missing`` where it does not serve the operation, the model or the voice.
    """

    def __init__(self, message: str, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing


@dataclass(frozen=True)
class Transcript:
    """``words`` are (text, start, end) in seconds; ``logprob`` is the mean over the segments by their length."""

    text: str
    language: str
    logprob: float
    words: list[tuple[str, float, float]]


class Api:
    """``url`` ends with /v1; to be entered."""

    def __init__(self, url: str, key: str, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._url, self._key, self._sleep = url, key, sleep

    async def __aenter__(self) -> "Api":
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_ANSWER_SECONDS)
        headers = {"Authorization": f"Bearer {self._key}"}
        self._session = aiohttp.ClientSession(timeout=timeout, headers=headers, trust_env=True)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._session.close()

    async def models(self) -> list[str]:
        """The models' names; the cheapest question there is."""
        said = _object(await self._ask("GET", "/models"))
        return [_of(each, "id") for each in _of(said, "data")]

    async def embed(self, texts: list[str]) -> tuple[NDArray[np.float32], int]:
        """Vectors float32 [texts, width], and the tokens of all."""
        body = {"input": texts, "encoding_format": "base64"}
        said = _object(await self._ask("POST", "/embeddings", json=body))
        try:
            rows = [np.frombuffer(base64.b64decode(each["embedding"]), "<f4") for each in said["data"]]
            return np.stack(rows), int(said["usage"]["prompt_tokens"])
        except (KeyError, TypeError, ValueError) as error:
            raise RefusedError(f"no embeddings: {error}") from None

    async def rerank(self, query: str, documents: list[str]) -> tuple[list[float], int]:
        """The score of each document, in their order, and the tokens of all."""
        said = _object(await self._ask("POST", "/rerank", json={"query": query, "documents": documents}))
        try:
            scores = {int(each["index"]): float(each["relevance_score"]) for each in said["results"]}
            return [scores[place] for place in range(len(documents))], int(said["usage"]["total_tokens"])
        except (KeyError, TypeError, ValueError) as error:
            raise RefusedError(f"no ranking: {error}") from None

    async def speak(self, text: str, voice: str, kind: str = "wav") -> bytes:
        """An audio file."""
        return await self._ask("POST", "/audio/speech", json={"input": text, "voice": voice, "response_format": kind})

    async def hear(self, model: str, file: bytes, temperature: float = 0.0) -> Transcript:
        """What is said in an audio file."""

        def form() -> aiohttp.FormData:
            given = {"model": model, "response_format": "verbose_json", "temperature": str(temperature)}
            fields = aiohttp.FormData(given)
            fields.add_field("timestamp_granularities[]", "word")
            fields.add_field("file", file, filename="audio")
            return fields

        said = _object(await self._ask("POST", "/audio/transcriptions", data=form))
        try:
            lengths = np.array([max(each["end"] - each["start"], 1e-3) for each in said["segments"]])
            chances = np.array([each["avg_logprob"] for each in said["segments"]])
            words = [(str(each["word"]), float(each["start"]), float(each["end"])) for each in said["words"]]
            mean = float(chances @ lengths / lengths.sum()) if lengths.size else 0.0
            return Transcript(str(said["text"]), str(said["language"]), round(mean, 4), words)
        except (KeyError, TypeError, ValueError) as error:
            raise RefusedError(f"no transcript: {error}") from None

    async def _ask(self, method: str, path: str, **body: Any) -> bytes:
        """The body of an answer; a server that is busy, or has had too many questions, is asked again."""
        attempts = 0
        while True:
            # A form can be sent once only.
            sent = {name: value() if callable(value) else value for name, value in body.items()}
            try:
                async with self._session.request(method, self._url + path, **sent) as answer:
                    content, status = await answer.read(), answer.status
                    pause = answer.headers.get("Retry-After", "")
            except aiohttp.InvalidURL:
                raise CannotAskError(f"{self._url}: is no address") from None
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise CannotAskError(f"{self._url}: {error or type(error).__name__}") from None
            if status == HTTPStatus.OK:
                return content
            attempts += status in _BUSY
            refusal = self._refusal(status, content)
            waits = status == HTTPStatus.TOO_MANY_REQUESTS or (status in _BUSY and attempts < _ATTEMPTS)
            if not waits or isinstance(refusal, CannotAskError):
                raise refusal
            await self._sleep(min(float(pause), _LONGEST_PAUSE) if pause.isdecimal() else 1.0)

    def _refusal(self, status: int, content: bytes) -> Exception:
        try:
            error = orjson.loads(content)["error"]
            message, kind, param = str(error["message"]), error.get("type"), error.get("param")
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            message, kind, param = "no error of this API", None, None
        if status in _NO_RIGHT or kind == _NO_MONEY:
            return CannotAskError(f"{self._url}: {message}")
        unknown = status == HTTPStatus.BAD_REQUEST and param in ("model", "voice")
        return RefusedError(f"{status}: {message}", unknown or status == HTTPStatus.NOT_FOUND)


def _object(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        raise RefusedError("an answer that is no JSON") from None


def _of(said: Any, name: str) -> Any:
    try:
        return said[name]
    except (KeyError, TypeError, IndexError):
        raise RefusedError(f"an answer without {name}") from None
