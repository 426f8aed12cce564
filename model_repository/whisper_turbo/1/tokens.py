"""Whisper's special tokens, and conversion between text and text tokens."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from windows import InvalidWindowError

# The unit separator of ASCII.
_AFTER_KEYWORDS = "\x1f"


class Tokens:
    """The tokenizer of ``folder``; ``settings`` are those of its ``quartet.json``."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.start = self.id("<|startoftranscript|>")
        self.end = self.id("<|endoftext|>")
        self._earlier = self.id("<|startofprev|>")
        self.no_speech = self._tokenizer.token_to_id("<|nospeech|>") or self.id("<|nocaptions|>")
        self._no_timestamps = self.id("<|notimestamps|>")
        self._codes: dict[int, str] = {token: code for code, token in settings["languages"].items()}
        self.languages = sorted(self._codes)
        self._is_multilingual = settings.get("multilingual", True)
        self.suppressed: list[int] = settings["suppressed"]
        self.suppressed_first: list[int] = settings["suppressed_first"]

    def id(self, token: str) -> int:
        identity = self._tokenizer.token_to_id(token)
        if identity is None:
            raise InvalidWindowError(f"the model has no token {token}")
        return int(identity)

    def language_of(self, token: int) -> str:
        """The language code of a token."""
        return self._codes[token]

    def among(self, languages: Collection[str], ranking: Mapping[int, float]) -> dict[int, float]:
        """The probability of each language's token, likeliest first, if it must be one of these; of any if none."""
        if not languages:
            return dict(ranking)
        # Tokens that a ranking leaves out are the least likely.
        allowed = {token: ranking.get(token, 0.0) for token, code in self._codes.items() if code in languages}
        total = sum(allowed.values())
        likeliest = sorted(allowed, key=lambda token: -allowed[token])
        return {token: allowed[token] / total if total else 1 / len(allowed) for token in likeliest}

    def task(self, language: str, *, translate: bool = False) -> list[int]:
        """The tokens before every transcript: start, language of the speech, task, no timestamps.

        A Whisper of English alone has learned neither languages nor tasks.
        """
        if not self._is_multilingual:
            if language not in self._codes.values():
                raise InvalidWindowError(f"the model knows English alone, not {language}")
            return [self.start, self._no_timestamps]
        task = self.id("<|translate|>" if translate else "<|transcribe|>")
        return [self.start, self.id(f"<|{language}|>"), task, self._no_timestamps]

    def earlier(self, text: str, most: int) -> list[int]:
        """The tokens of a context before the task: the last tokens of ``text``, at most ``most`` in all.

        In front of a unit separator are keywords. Of them the first tokens stay, in what the text leaves free, and at
        least in half of the context.
        """
        keywords, separator, rest = text.partition(_AFTER_KEYWORDS)
        first, last = self._ids(keywords if separator else ""), self._ids(rest if separator else text)
        first = first[: max((most - 1) // 2, most - 1 - len(last))]
        room = most - 1 - len(first)
        ids = first + (last[-room:] if room else [])
        return [self._earlier, *ids] if ids else []

    def _ids(self, text: str) -> list[int]:
        """The tokens of a text, without special ones, which must have no effect."""
        if not (text := text.strip()):
            return []
        return [id_ for id_ in self._tokenizer.encode(" " + text, add_special_tokens=False).ids if id_ < self.end]

    def decode(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(tokens)))
