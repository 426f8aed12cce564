"""Token counts of upstream answers, as reported or estimated from the text."""

from collections.abc import Iterator
from typing import Any

import orjson

# Estimate: bytes of text per token, if the upstream reports no usage.
_BYTES_PER_TOKEN = 4
# The longest event, in bytes, that is searched for usage.
_LONGEST_EVENT = 1024 * 1024
# Fields of requests and answers that contain text.
_TEXTS = frozenset(
    ("content", "text", "input", "prompt", "instructions", "reasoning", "reasoning_content", "refusal", "arguments")
)
_USAGE_PARTS = (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens"))


def tokens_of(answer: bytes) -> tuple[int | None, int]:
    """The usage that a complete answer reports, or None, and its bytes of text."""
    try:
        value = orjson.loads(answer)
    except ValueError:
        return None, 0
    return (_usage_of(value), text_bytes(value)) if isinstance(value, dict) else (None, 0)


def estimate(size: int) -> int:
    """Estimated tokens in ``size`` bytes of text."""
    return -(-size // _BYTES_PER_TOKEN)


def text_bytes(value: Any) -> int:
    """Bytes of text anywhere in a request or answer."""
    return sum(len(text.encode("utf-8", "replace")) for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    # Without recursion: the depth of an answer has no limit.
    left = [("", value)]
    while left:
        name, part = left.pop()
        if isinstance(part, dict):
            left += part.items()
        elif isinstance(part, list):
            left += [(name, item) for item in part]
        elif isinstance(part, str) and name in _TEXTS:
            yield part


def _usage_of(value: dict[str, Any]) -> int | None:
    within = value.get("response")
    usage = value.get("usage") or (within.get("usage") if isinstance(within, dict) else None)
    if not isinstance(usage, dict):
        return None
    if (total := _count(usage.get("total_tokens"))) is not None:
        return total
    sums = (tuple(_count(usage.get(name)) for name in names) for names in _USAGE_PARTS)
    return next((first + second for first, second in sums if first is not None and second is not None), None)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


class StreamMeter:
    """Counts the tokens of a stream of server-sent events.

    ``text_bytes`` counts the request's text. ``hides_usage`` removes the event that has only the usage.
    """

    def __init__(self, text_bytes: int, *, hides_usage: bool) -> None:
        self._text_bytes, self._hides_usage = text_bytes, hides_usage
        self._usage: int | None = None
        self._event = bytearray()

    @property
    def tokens(self) -> int:
        """Tokens of the answer so far."""
        return estimate(self._text_bytes) if self._usage is None else self._usage

    def feed(self, piece: bytes) -> bytes:
        """Read a piece of the stream. Return the bytes to pass on: whole lines, and lines too long for an event."""
        end = piece.rfind(b"\n") + 1
        if not end and len(self._event) + len(piece) > _LONGEST_EVENT:
            end = len(piece)
        if not end:
            self._event += piece
            return b""
        lines = (bytes(self._event) + piece[:end]).splitlines(keepends=True)
        self._event[:] = piece[end:]
        return b"".join(line for line in lines if self._passes_on(line))

    def rest(self) -> bytes:
        """The remaining bytes if a stream ends within a line."""
        line = bytes(self._event)
        return line if self._passes_on(line) else b""

    def _passes_on(self, line: bytes) -> bool:
        if not line.startswith(b"data:"):
            return True
        try:
            event = orjson.loads(line[len(b"data:") :])
        except ValueError:
            return True
        if not isinstance(event, dict):
            return True
        self._text_bytes += _new_text(event)
        if (tokens := _usage_of(event)) is None:
            return True
        self._usage = tokens
        return not (self._hides_usage and not event.get("choices"))


def _new_text(event: dict[str, Any]) -> int:
    """Bytes of text that an event adds to its stream. Final events repeat the text and add none."""
    delta = event.get("delta")
    if isinstance(delta, str):
        return len(delta.encode("utf-8", "replace"))
    choices = event.get("choices")
    return text_bytes(choices) if isinstance(choices, list) else 0
