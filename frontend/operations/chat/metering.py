"""How many tokens an answer of the upstream cost, as it tells, or by its length where it does not."""

from typing import Any

import orjson

# Without a word of the upstream, a token for so many bytes of the request and the answer.
_BYTES_PER_TOKEN = 4
_LONGEST_EVENT = 1024 * 1024


def tokens_of(answer: bytes) -> int | None:
    """The usage in an answer, or in an event of a stream; None where there is none."""
    try:
        value = orjson.loads(answer)
    except ValueError:
        return None
    return _total(value) if isinstance(value, dict) else None


def estimate(size: int) -> int:
    """Tokens in so many bytes."""
    return -(-size // _BYTES_PER_TOKEN)


def _total(value: dict[str, Any]) -> int | None:
    within = value.get("response")
    usage = value.get("usage") or (within.get("usage") if isinstance(within, dict) else None)
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and not isinstance(total, bool) and 0 <= total < 2**31 else None


class StreamMeter:
    """Reads a stream of server-sent events on its way; ``hides`` keeps back the event that tells the usage alone."""

    def __init__(self, request_size: int, *, hides: bool) -> None:
        self._size, self._hides = request_size, hides
        self._told: int | None = None
        self._event = bytearray()

    @property
    def tokens(self) -> int:
        """What the answer has cost so far."""
        return estimate(self._size) if self._told is None else self._told

    def feed(self, piece: bytes) -> bytes:
        """Take some of the stream, and answer what of it goes on: whole lines, and what is too long for an event."""
        self._size += len(piece)
        end = piece.rfind(b"\n") + 1
        if not end and len(self._event) + len(piece) > _LONGEST_EVENT:
            end = len(piece)
        if not end:
            self._event += piece
            return b""
        lines = (bytes(self._event) + piece[:end]).splitlines(keepends=True)
        self._event[:] = piece[end:]
        return b"".join(line for line in lines if self._goes_on(line))

    def rest(self) -> bytes:
        """What is left where a stream ends within a line."""
        return bytes(self._event)

    def _goes_on(self, line: bytes) -> bool:
        if not line.startswith(b"data:") or b'"usage"' not in line:
            return True
        data = line[len(b"data:") :]
        if (tokens := tokens_of(data)) is None:
            return True
        self._told = tokens
        return not (self._hides and orjson.loads(data).get("choices") == [])
