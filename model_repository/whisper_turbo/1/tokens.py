"""Whisper's special tokens, and conversion between text and text tokens."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from windows import InvalidWindowError


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
        """The tokens of a context before the task: the last tokens of ``text``, at most ``most`` in all."""
        text = text.strip()
        if not text:
            return []
        ids = self._tokenizer.encode(" " + text, add_special_tokens=False).ids
        # Special tokens in the caller's text must have no effect.
        return [self._earlier, *[token for token in ids if token < self.end][-(most - 1) :]]

    def decode(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(tokens)))
