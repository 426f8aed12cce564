"""Text to token ids, truncated to the limit of a model, and ids to packed requests.

``tokenizers`` releases the GIL while it works. A packed request has all texts end to end in one row, and their
lengths.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from frontend.errors import TooLarge

# Characters per part. A tokenizer needs about 150 bytes per character, so long texts go in parts that end at a space,
# until there are enough tokens.
_PART = 32_768
_AT_ONCE = 8 * _PART
# Characters from which texts are worth the threads of ``tokenizers``. To wake them takes longer than a short text.
_THREADS_FROM = 4_000
# Tokens at the end of a part that could change if the text continued.
_SLACK = 64
# Tokens of a text for which attention takes as long as everything else.
_SQUARE = 8192
INPUTS = ("input_ids", "lengths")

Ids = NDArray[np.int32]
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class _Frame:
    """The special tokens around a text, or a pair: ``before`` query ``between`` document ``after``."""

    before: list[int]
    after: list[int]
    between: list[int]

    def __len__(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)


# By the digests of their files.
_known: dict[bytes, Tokenizer] = {}


def _read(path: Path) -> Tokenizer:
    """A file's tokenizer. Files that are equal share one, which takes a second to read and 280 MB."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).digest()
    if digest not in _known:
        tokenizer = Tokenizer.from_buffer(content)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        _known[digest] = tokenizer
    return _known[digest]


class TextTokenizer:
    """The tokenizer of an exported text model, from ``tokenizer.json`` and ``quartet.json`` in ``folder``."""

    def __init__(self, folder: Path) -> None:
        settings = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
        self.max_tokens = int(settings["max_tokens"])
        # Tokens that have no weight; None for a model that weighs none.
        self.unweighted: list[int] | None = settings.get("unweighted_tokens")
        self._tokenizer = _read(folder / "tokenizer.json")
        self._text_frame, self._pair_frame = self._frame("a"), self._frame("a", "b")

    def _frame(self, *words: str) -> _Frame:
        encoded = self._tokenizer.encode(*words)
        sequences = encoded.sequence_ids
        ids, last = encoded.ids, len(words) - 1
        first_end = max(index for index, sequence in enumerate(sequences) if sequence == 0) + 1
        last_start = min(index for index, sequence in enumerate(sequences) if sequence == last)
        last_end = max(index for index, sequence in enumerate(sequences) if sequence == last) + 1
        return _Frame(ids[: sequences.index(0)], ids[last_end:], ids[first_end:last_start] if last else [])

    def _encode(self, texts: Sequence[str], limit: int) -> list[list[int]]:
        """Ids of each text without special tokens; at least ``limit`` ids of a text that has more."""
        ids: list[list[int]] = [[] for _ in texts]
        unread = {index: _parts(text) for index, text in enumerate(texts)}
        while unread:
            parts = {index: part for index, rest in unread.items() if (part := next(rest, None)) is not None}
            # Many short ones together, or few long ones.
            for group in _filled(parts.items(), lambda part: len(part[1]), _AT_ONCE):
                for (index, _), more in zip(group, self._ids([part for _, part in group]), strict=True):
                    ids[index] += more
            unread = {index: unread[index] for index in parts if len(ids[index]) < limit + _SLACK}
        return ids

    def _ids(self, parts: list[str]) -> list[list[int]]:
        size = len(parts) if sum(map(len, parts)) >= _THREADS_FROM else 1
        batches = (parts[start : start + size] for start in range(0, len(parts), size))
        encode = partial(self._tokenizer.encode_batch_fast, add_special_tokens=False)
        return [encoded.ids for batch in batches for encoded in encode(batch)]

    def texts(self, texts: Sequence[str], *, truncate: bool = True) -> list[Ids]:
        """Token ids of each text with its special tokens, at most ``max_tokens`` of them.

        Without ``truncate``, raises ``TooLarge`` for a text that has more.
        """
        frame = self._text_frame
        room = self.max_tokens - len(frame)
        encoded = self._encode(texts, room)
        if not truncate and any(len(ids) > room for ids in encoded):
            raise TooLarge(f"a text has more than {self.max_tokens} tokens")
        return [np.array([*frame.before, *ids[:room], *frame.after], np.int32) for ids in encoded]

    def pairs(
        self, query: str, documents: Sequence[str], most: int | None = None, *, truncate: bool = True
    ) -> list[Ids]:
        """Token ids of the query with each document, which gives at most ``most`` of them.

        A query over half of ``max_tokens`` is cut to that; then the document gives way, never the query. Without
        ``truncate``, raises ``TooLarge`` instead.
        """
        frame, half = self._pair_frame, self.max_tokens // 2
        query_ids = self._encode([query], half)[0]
        room = self.max_tokens - len(frame) - min(half, len(query_ids))
        room = room if most is None else min(most, room)
        documents_ids = self._encode(documents, room)
        if not truncate and (len(query_ids) > half or any(len(ids) > room for ids in documents_ids)):
            raise TooLarge(f"the query and a text have more than {self.max_tokens} tokens")
        head = [*frame.before, *query_ids[:half], *frame.between]
        return [np.array([*head, *ids[:room], *frame.after], np.int32) for ids in documents_ids]


def _parts(text: str) -> Iterator[str]:
    """The parts of a text in order, cut at spaces if possible."""
    start = 0
    while len(text) - start > _PART:
        end = text.rfind(" ", start + _PART // 2, start + _PART)
        end = start + _PART if end < 0 else end
        yield text[start:end]
        start = end
    yield text[start:]


def _filled(items: Iterable[_Item], size: Callable[[_Item], float], most: float) -> list[list[_Item]]:
    """The items, in order, in groups of at most ``most``. A larger item has its own group."""
    groups: list[list[_Item]] = []
    filled = 0.0
    for item in items:
        added = size(item)
        if not groups or filled + added > most:
            groups.append([])
            filled = 0.0
        groups[-1].append(item)
        filled += added
    return groups


def work(texts: list[Ids]) -> float:
    """Cost of texts in tokens. Attention grows with the square of a text's length."""
    return sum(len(text) * (1 + len(text) / _SQUARE) for text in texts)


def pack(texts: list[Ids], budget: float) -> list[list[Ids]]:
    """Cut texts, in order, into requests of at most ``budget`` of work. One larger text fills a request."""
    return _filled(texts, lambda text: work([text]), budget)


def packed_inputs(texts: list[Ids]) -> dict[str, NDArray[Any]]:
    """``input_ids`` INT32 [1, tokens] and ``lengths`` INT32 [1, texts]."""
    lengths = np.array([[len(text) for text in texts]], np.int32)
    return {"input_ids": np.concatenate(texts)[None], "lengths": lengths}
