"""Token counts of upstream answers, as reported or estimated from the text."""

from collections.abc import Iterator
from itertools import islice, repeat
from typing import Any, NamedTuple

import orjson

from frontend.extensions.metrics import CHAT_ESTIMATES
from frontend.observe.logs import log

# Estimate: bytes of text per token, if the upstream reports no usage.
_BYTES_PER_TOKEN = 4
# The longest event, in bytes, that is searched for usage.
_LONGEST_EVENT = 1024 * 1024
# The most parts of an event that are searched for text: those of 128 choices, many times over.
_MOST_PARTS = 4096
# Fields of requests and answers that contain text.
_TEXTS = frozenset(
    ("content", "text", "input", "prompt", "instructions", "reasoning", "reasoning_content", "refusal", "arguments")
)
_LONGEST_COUNT = 10  # digits
_USAGE_PARTS = (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens"))


class Usage(NamedTuple):
    """What an answer used: ``tokens`` as reported, its bytes of text, and whether the report ``is_unreadable``."""

    tokens: int | None
    text_bytes: int
    is_unreadable: bool = False

    def note(self) -> None:
        """Count that it is estimated, and log that it cannot be read."""
        if self.tokens is None:
            CHAT_ESTIMATES.labels("unreadable" if self.is_unreadable else "absent").inc()
        if self.tokens is None and self.is_unreadable:
            log.warning("the usage that the chat backend reports cannot be read: it is estimated")


def usage_of(answer: bytes) -> Usage:
    """The usage of a complete answer."""
    try:
        value = orjson.loads(answer)
    except ValueError:
        return Usage(None, 0)
    if not isinstance(value, dict):
        return Usage(None, 0)
    tokens, is_unreadable = _reported(value)
    return Usage(tokens, text_bytes(value), is_unreadable)


def estimate(size: int) -> int:
    """Estimated tokens in ``size`` bytes of text."""
    return -(-size // _BYTES_PER_TOKEN)


def text_bytes(value: Any) -> int:
    """Bytes of text anywhere in a request or answer."""
    return _bytes_of(_parts(value))


def _bytes_of(parts: Iterator[tuple[str, Any]]) -> int:
    texts = (part for name, part in parts if isinstance(part, str) and name in _TEXTS)
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Every value within a value, with its name."""
    # Without recursion: the depth of an answer has no limit.
    left: list[Iterator[tuple[str, Any]]] = [iter([("", value)])]
    while left:
        if (found := next(left[-1], None)) is None:
            left.pop()
            continue
        name, part = found
        yield name, part
        if isinstance(part, dict):
            left.append(iter(part.items()))
        elif isinstance(part, list):
            left.append(zip(repeat(name), part, strict=False))


def _reported(value: dict[str, Any]) -> tuple[int | None, bool]:
    """The tokens that an answer or event reports, and whether there is a report that cannot be read."""
    within = value.get("response")
    usage = value.get("usage") or (within.get("usage") if isinstance(within, dict) else None)
    if not usage:
        return None, False
    if not isinstance(usage, dict):
        return None, True
    total = _count(usage.get("total_tokens"))
    parts = [[_count(usage.get(name)) for name in names] for names in _USAGE_PARTS]
    sums = [sum(part or 0 for part in pair) for pair in parts if total is not None or None not in pair]
    # Some report a total of 0, or one that leaves out a part.
    tokens = max([*sums, total or 0], default=0) if sums or total is not None else None
    return tokens, tokens is None


def _count(value: Any) -> int | None:
    """A count, also as a whole float or as digits, as some gateways write it."""
    digits = isinstance(value, str) and len(value) <= _LONGEST_COUNT and value.isascii() and value.isdecimal()
    if digits or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


class StreamMeter:
    """Counts the tokens of a stream of server-sent events.

    ``text_bytes`` counts the request's text. ``hides_usage`` removes the event that has only the usage.
    """

    def __init__(self, text_bytes: int, *, hides_usage: bool) -> None:
        self._text_bytes, self._hides_usage = text_bytes, hides_usage
        self._usage: int | None = None
        self._is_unreadable = False
        self._event = bytearray()

    @property
    def tokens(self) -> int:
        """Tokens of the answer so far."""
        return estimate(self._text_bytes) if self._usage is None else self._usage

    @property
    def usage(self) -> Usage:
        """The usage of the whole stream and its request."""
        return Usage(self._usage, self._text_bytes, self._is_unreadable)

    def feed(self, piece: bytes) -> bytes:
        """Read a piece of the stream. Return the bytes to pass on: whole lines, and lines too long for an event."""
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
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
        tokens, is_unreadable = _reported(event)
        self._is_unreadable |= is_unreadable
        if tokens is None:
            return True
        self._usage = tokens
        return not (self._hides_usage and not event.get("choices"))


def _new_text(event: dict[str, Any]) -> int:
    """Bytes of text that an event adds to its stream. Final events repeat the text and add none."""
    delta = event.get("delta")
    if isinstance(delta, str):
        return len(delta.encode("utf-8", "replace"))
    choices = event.get("choices")
    return _bytes_of(islice(_parts(choices), _MOST_PARTS)) if isinstance(choices, list) else 0
