"""Text to token ids, truncated to what a model takes. ``tokenizers`` gives up the GIL while it works."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

# The whole string is tokenized before it is cut, so long strings lose their end first. Real text has 3 to 6 characters
# a token; where 16 were not enough for a full count, the whole string is taken after all.
_CHARACTERS_PER_TOKEN = 16

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class _Frame:
    """The special tokens around a pair: ``before`` query ``between`` document ``after``."""

    before: list[int]
    between: list[int]
    after: list[int]

    def __len__(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)


class TextTokenizer:
    """The tokenizer of an exported text model, from ``tokenizer.json`` and ``quartet.json`` in ``folder``."""

    def __init__(self, folder: Path) -> None:
        settings = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
        self.max_tokens = int(settings["max_tokens"])
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._special = len(self._tokenizer.encode("").ids)
        self._suffix = self._tokenizer.encode("").ids[1:]
        self._frame = self._pair_frame()

    def _pair_frame(self) -> _Frame:
        pair = self._tokenizer.encode("a", "b")
        types = pair.special_tokens_mask
        words = [place for place, special in enumerate(types) if not special]
        sequences = pair.sequence_ids
        first = [place for place in words if sequences[place] == 0]
        second = [place for place in words if sequences[place] == 1]
        return _Frame(pair.ids[: first[0]], pair.ids[first[-1] + 1 : second[0]], pair.ids[second[-1] + 1 :])

    def _encode(self, texts: list[str], limit: int, special: bool) -> list[list[int]]:
        """Ids of each text; a text that was cut before tokenizing is certain to have at least ``limit`` of them."""
        most = limit * _CHARACTERS_PER_TOKEN
        encoded = self._tokenizer.encode_batch_fast([t[:most] for t in texts], add_special_tokens=special)
        ids: list[list[int]] = [item.ids for item in encoded]
        for index, text in enumerate(texts):
            if len(text) > most and len(ids[index]) < limit + self._special:
                ids[index] = self._tokenizer.encode(text, add_special_tokens=special).ids
        return ids

    def texts(self, texts: list[str]) -> list[Ids]:
        """Token ids of each text with its special tokens, at most ``max_tokens`` of them."""
        result = []
        for ids in self._encode(texts, self.max_tokens, special=True):
            if len(ids) > self.max_tokens:
                ids = ids[: self.max_tokens - len(self._suffix)] + self._suffix
            result.append(np.array(ids, np.int32))
        return result

    def pairs(self, query: str, documents: list[str]) -> list[Ids]:
        """Token ids of the query with each document.

        A query over half of ``max_tokens`` is cut to that; then the document gives way, never the query.
        """
        frame = self._frame
        query_ids = self._encode([query], self.max_tokens // 2, special=False)[0][: self.max_tokens // 2]
        room = self.max_tokens - len(frame) - len(query_ids)
        head = [*frame.before, *query_ids, *frame.between]
        return [
            np.array([*head, *ids[:room], *frame.after], np.int32)
            for ids in self._encode(documents, self.max_tokens, special=False)
        ]


def pack(texts: list[Ids], budget: int) -> list[list[Ids]]:
    """Cut texts, in order, into requests of at most ``budget`` tokens; a text alone may fill one."""
    requests: list[list[Ids]] = []
    filled = budget
    for text in texts:
        if filled + len(text) > budget:
            requests.append([])
            filled = 0
        requests[-1].append(text)
        filled += len(text)
    return requests
