"""Requests for items and their answers: one request per batch of texts, or one per other item."""

import base64
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, ClassVar

import aiohttp
import numpy as np
import orjson

from client.bulk.inputs import Item, ItemError

_LARGEST_FILE = 25 * 1024 * 1024  # bytes
_AUDIO = ("wav", "mp3", "m4a", "mp4", "ogg", "oga", "opus", "webm", "flac", "3gp", "amr")

# An item's outcome and amount of work.
Outcome = tuple[dict[str, Any], float]


class Operation(ABC):
    """An operation of the API. A request has up to ``batch`` items, and several have at most ``characters`` of text.

    A part of a Parquet output has ``part`` items.
    """

    path: ClassVar[str]
    unit: ClassVar[str]
    # Fields of an outcome, in addition to the item's number and id.
    fields: Sequence[str]
    suffixes: ClassVar[frozenset[str]] = frozenset({".txt"})
    column: ClassVar[str] = "text"
    is_file: ClassVar[bool] = False
    batch: ClassVar[int] = 1
    characters: ClassVar[int] = 0
    part: ClassVar[int] = 16
    # Longest silence, in seconds, of a server that works on a request.
    answer_seconds: ClassVar[float] = 900.0

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)

    @abstractmethod
    def body(self, items: Sequence[Item]) -> Any:
        """A context with the request's ``json`` or ``data``; ``ItemError`` if an item cannot be sent."""

    @abstractmethod
    def outcomes(self, items: Sequence[Item], answer: bytes) -> list[Outcome]:
        """The outcome of each item in the answer."""


class Embed(Operation):
    """Texts to vectors of float32."""

    path, unit, fields = "/embeddings", "tokens", ("embedding",)
    batch, characters, part = 32, 200_000, 1024

    @contextmanager
    def body(self, items: Sequence[Item]) -> Iterator[dict[str, Any]]:
        texts = [item.read_text() for item in items]
        yield {"json": {**self.options, "input": texts, "encoding_format": "base64"}}

    def outcomes(self, items: Sequence[Item], answer: bytes) -> list[Outcome]:
        body = orjson.loads(answer)
        vectors = [np.frombuffer(base64.b64decode(one["embedding"]), "<f4") for one in body["data"]]
        tokens = body["usage"]["total_tokens"] / len(items)
        return [({"embedding": vector}, tokens) for vector in vectors]


class Transcribe(Operation):
    """Recordings to text, optionally with segments or words."""

    path, unit, column, is_file = "/audio/transcriptions", "seconds of audio", "path", True
    suffixes = frozenset(f".{kind}" for name in _AUDIO for kind in (name, name.upper()))
    # Seconds for two hours of audio.
    answer_seconds = 8000.0

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._timestamps = self.options.pop("timestamps", "")
        further = {"segment": ["segments"], "word": ["segments", "words"]}.get(self._timestamps, [])
        self.fields = ["text", "language", "duration", *further]

    @contextmanager
    def body(self, items: Sequence[Item]) -> Iterator[dict[str, Any]]:
        form = aiohttp.FormData({**self.options, "response_format": "verbose_json"})
        if self._timestamps:
            form.add_field("timestamp_granularities[]", self._timestamps)
        with ExitStack() as opened:
            form.add_field("file", _content(items[0], opened), filename="audio")
            yield {"data": form}

    def outcomes(self, items: Sequence[Item], answer: bytes) -> list[Outcome]:
        body = orjson.loads(answer)
        return [({name: body[name] for name in self.fields}, body["duration"])]


def _content(item: Item, opened: ExitStack) -> bytes | BinaryIO:
    """An open file, or the bytes of one."""
    if item.path is None:
        return _checked(item.data or b"", len(item.data or b""))
    try:
        file = opened.enter_context(item.path.open("rb"))
    except OSError as error:
        raise ItemError(f"the file cannot be read: {error.strerror}") from None
    return _checked(file, os.fstat(file.fileno()).st_size)


def _checked(content: bytes | BinaryIO, size: int) -> bytes | BinaryIO:
    if size > _LARGEST_FILE:
        raise ItemError(f"the file has {size} bytes, and the API takes {_LARGEST_FILE}")
    return content


class Speak(Operation):
    """Texts to audio files."""

    path, unit, fields = "/audio/speech", "characters", ("audio",)

    @contextmanager
    def body(self, items: Sequence[Item]) -> Iterator[dict[str, Any]]:
        yield {"json": {**self.options, "input": items[0].read_text()}}

    def outcomes(self, items: Sequence[Item], answer: bytes) -> list[Outcome]:
        return [({"audio": answer}, float(len(items[0].read_text())))]


OPERATIONS: Mapping[str, type[Operation]] = {"embed": Embed, "transcribe": Transcribe, "speak": Speak}


def batches(operation: Operation, items: Iterator[Item]) -> Iterator[list[Item]]:
    """The items of each request. They depend only on the input, so a continued run sends the same requests."""
    gathered: list[Item] = []
    characters = 0
    for item in items:
        size = _characters(item) if operation.batch > 1 else 0
        full = len(gathered) == operation.batch or characters + size > operation.characters
        if gathered and (full or item.number % operation.batch == 0):
            yield gathered
            gathered, characters = [], 0
        gathered.append(item)
        characters += size
    if gathered:
        yield gathered


def _characters(item: Item) -> int:
    """Size of an item for the batch limit: characters, or bytes of a file."""
    if item.path is None:
        return len(item.text or "")
    try:
        return item.path.stat().st_size
    except OSError:
        return 0
