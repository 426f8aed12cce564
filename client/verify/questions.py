"""Requests to a server, one at a time, repeated while it is busy."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import aiohttp
import numpy as np
import orjson
from numpy.typing import NDArray

from client.api import Api, CommandError
from frontend.catalogue.models import EMBEDDINGS, MODELS, RERANK

_ATTEMPTS = 4
_LONGEST_PAUSE_SECONDS = 60.0


class RefusedError(Exception):
    """The server's answer is an error or invalid.

    ``missing`` is true if it does not serve the operation, the model, the voice or sparse weights.
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


class Questions(Api):
    """Each method raises ``RefusedError`` for a refusal and ``CommandError`` if no server answers.

    ``named`` has the model of operations that are not asked of the contract's models.
    """

    named: Mapping[str, str] = MappingProxyType({})

    def __init__(self, url: str, key: str, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        super().__init__(url, key)
        self._sleep = sleep

    async def models(self) -> list[str]:
        """The models' names; this is the cheapest request."""
        with _answer("list of models"):
            return [model["id"] for model in orjson.loads(await self.ask("GET", "/models"))["data"]]

    async def operation_of(self, model: str) -> str:
        """The operation of one of the models; ``CommandError`` for a name that no endpoint takes."""
        try:
            entry = orjson.loads(await self.ask("GET", f"/models/{quote(model)}"))
        except RefusedError as error:
            raise CommandError(str(error)) from None
        if operation := entry.get("operation"):
            return str(operation)
        if model not in MODELS:
            raise CommandError(f"{model}: the server does not say whose model this is")
        return MODELS[model].operation

    async def embed(self, texts: list[str]) -> tuple[NDArray[np.float32], int]:
        """Vectors float32 [texts, width], and the number of tokens."""
        body = {"input": texts, "encoding_format": "base64", **self._model(EMBEDDINGS)}
        with _answer("embeddings"):
            body = orjson.loads(await self.ask("POST", "/embeddings", json=body))
            rows = [np.frombuffer(base64.b64decode(item["embedding"]), "<f4") for item in body["data"]]
            return np.stack(rows), int(body["usage"]["prompt_tokens"])

    async def weigh(self, texts: list[str]) -> list[dict[int, float]]:
        """The weights of the tokens of each text, by their ids."""
        with _answer("weights"):
            asked = {"input": texts, "outputs": ["sparse"], **self._model(EMBEDDINGS)}
            body = orjson.loads(await self.ask("POST", "/embeddings", json=asked))
            found = [item["sparse"] for item in body["data"]]
            return [dict(zip(each["indices"], each["values"], strict=True)) for each in found]

    async def rerank(self, query: str, documents: list[str]) -> tuple[list[float], int]:
        """The scores in the order of the documents, and the number of tokens."""
        with _answer("ranking"):
            asked = {"query": query, "documents": documents, **self._model(RERANK)}
            body = orjson.loads(await self.ask("POST", "/rerank", json=asked))
            scores = {int(result["index"]): float(result["relevance_score"]) for result in body["results"]}
            return [scores[place] for place in range(len(documents))], int(body["usage"]["total_tokens"])

    def _model(self, operation: str) -> dict[str, str]:
        return {"model": self.named[operation]} if operation in self.named else {}

    async def speak(self, text: str, voice: str, kind: str = "wav") -> bytes:
        return await self.ask("POST", "/audio/speech", json={"input": text, "voice": voice, "response_format": kind})

    async def hear(self, model: str, file: bytes, temperature: float = 0.0) -> Transcript:
        """The transcript of an audio file."""

        def form() -> aiohttp.FormData:
            fields = aiohttp.FormData(
                {"model": model, "response_format": "verbose_json", "temperature": str(temperature)}
            )
            fields.add_field("timestamp_granularities[]", "word")
            fields.add_field("file", file, filename="audio")
            return fields

        with _answer("transcript"):
            body = orjson.loads(await self.ask("POST", "/audio/transcriptions", data=form))
            lengths = np.array([max(segment["end"] - segment["start"], 1e-3) for segment in body["segments"]])
            chances = np.array([segment["avg_logprob"] for segment in body["segments"]])
            words = [(str(word["word"]), float(word["start"]), float(word["end"])) for word in body["words"]]
            mean = float(chances @ lengths / lengths.sum()) if lengths.size else 0.0
            return Transcript(str(body["text"]), str(body["language"]), round(mean, 4), words)

    async def ask(self, method: str, path: str, **body: Any) -> bytes:
        """The body of an answer. It retries if the server is busy or the rate limit is reached."""
        attempts = 0
        while True:
            # A form can be sent only once.
            sent = {name: value() if callable(value) else value for name, value in body.items()}
            answer = await self.send(method, path, **sent)
            if isinstance(answer, bytes):
                return answer
            if not answer.status:
                raise CommandError(answer.message)
            attempts += answer.is_busy
            if not answer.is_rate_limited and (not answer.is_busy or attempts == _ATTEMPTS):
                unknown = answer.status == HTTPStatus.BAD_REQUEST and answer.param in ("model", "voice", "outputs")
                missing = unknown or answer.status == HTTPStatus.NOT_FOUND
                raise RefusedError(f"{answer.status}: {answer.message}", missing)
            await self._sleep(min(answer.retry_after or 1.0, _LONGEST_PAUSE_SECONDS))


@contextmanager
def _answer(kind: str) -> Iterator[None]:
    """Raise ``RefusedError`` for a missing part of an answer."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise RefusedError(f"no {kind}: {error}") from None
