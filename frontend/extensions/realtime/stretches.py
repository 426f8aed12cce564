"""What a pass transcribes: an item after those before it, or the end of an open item."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from frontend.audio.decode import SAMPLE_RATE
from frontend.audio.prepare import SAMPLE_BYTES
from frontend.extensions.realtime.agreement import TimedWord, following
from frontend.extensions.realtime.items import Item

# Seconds of an item together with those before it. Short items are transcribed better with them, long ones need none.
_MOST_SECONDS = 10.0
# Seconds at the end of an open item that each pass transcribes.
_RECENT_SECONDS = 2.0
# Characters of the text before a stretch, of which a pass over an open item takes fewer, as each takes time.
_CONTEXT, _SHORT_CONTEXT = 800, 200
# Seconds of the shortest audio that is transcribed after a text. Shorter audio may give its repetition.
_LEAST_SECONDS = 2.0
_BYTES_PER_SECOND = SAMPLE_RATE * SAMPLE_BYTES
_SENTENCE_ENDS = (".", "?", "!", "…", "。", "？", "！", "।", "؟", "۔")


@dataclass(frozen=True)
class Stretch:
    """Audio, int16, up to the sample ``end`` of an item, and the text before it.

    ``start`` is in seconds of the item. It is negative if items before it are transcribed too, whose words are
    ``earlier``, and positive if the ``kept`` words of the item come before.
    """

    audio: bytes
    context: str
    end: int
    start: float = 0.0
    earlier: Sequence[TimedWord] = ()
    kept: Sequence[TimedWord] = ()

    @property
    def seconds(self) -> float:
        return len(self.audio) / _BYTES_PER_SECOND

    def words(self, found: Sequence[TimedWord]) -> list[TimedWord]:
        """The item's words up to the end of the stretch, from what the model found."""
        later = [word.later(self.start) for word in found]
        return [*self.kept, *later[following(self.earlier, later, 0.0) :]]


class History:
    """The last items of a session in one language."""

    def __init__(self) -> None:
        self._language = ""
        self._items: deque[tuple[bytes, Sequence[TimedWord]]] = deque()
        # What was said before them.
        self._text = ""

    @property
    def held_bytes(self) -> int:
        return sum(len(audio) for audio, _ in self._items)

    @property
    def is_empty(self) -> bool:
        return not (self._items or self._text)

    def follows(self, item: Item) -> bool:
        """Whether an item is in the same language as those before it, of which there are some."""
        return not self.is_empty and item.language == self._language

    def add(self, item: Item, words: Sequence[TimedWord]) -> None:
        if item.language != self._language:
            self._items.clear()
            self._language, self._text = item.language, ""
        self._items.append((bytes(item.audio), words))
        while self.held_bytes > _MOST_SECONDS * _BYTES_PER_SECOND:
            self._text = _end(self._text + _text(self._items.popleft()[1]), _CONTEXT)

    def whole(self, item: Item, window_seconds: float) -> Stretch:
        """An item after those before it in its language, as far as they fit into the model's window."""
        if not self.follows(item):
            return Stretch(bytes(item.audio), "", item.samples)
        room = min(_MOST_SECONDS, window_seconds) * _BYTES_PER_SECOND - len(item.audio)
        older, near = list(self._items), deque[tuple[bytes, Sequence[TimedWord]]]()
        while older and len(older[-1][0]) <= room:
            room -= len(older[-1][0])
            near.appendleft(older.pop())
        before = b"".join(audio for audio, _ in near)
        audio, earlier = before + item.audio, [word for _, words in near for word in words]
        text = _end(self._text + "".join(_text(words) for _, words in older), _CONTEXT)
        return Stretch(audio, _context(audio, text), item.samples, -len(before) / _BYTES_PER_SECOND, earlier)

    def recent(self, item: Item) -> Stretch:
        """The end of an open item, from a pause in its sent words on."""
        kept = item.agreement.before(item.samples / SAMPLE_RATE - _RECENT_SECONDS)
        first = int(kept[-1].end * SAMPLE_RATE) if kept else 0
        audio = bytes(item.audio[first * SAMPLE_BYTES :])
        texts = [self._text, *(_text(words) for _, words in self._items)] if self.follows(item) else []
        said = _end("".join(texts), _SHORT_CONTEXT)
        context = f"{said}{_text(kept)}".strip() if kept else _context(audio, said)
        return Stretch(audio, context, item.samples, first / SAMPLE_RATE, kept=kept)


def _text(words: Sequence[TimedWord]) -> str:
    return "".join(word.text for word in words)


def _end(text: str, most: int) -> str:
    """The last words of a text, at most ``most`` characters. Some languages have no spaces."""
    end = text[-most:]
    return end if end == text else end.partition(" ")[2] or end


def _context(audio: bytes, text: str) -> str:
    """The text after which audio is transcribed. One that is no sentence would be carried on as none."""
    return text.strip() if len(audio) >= _LEAST_SECONDS * _BYTES_PER_SECOND and text.endswith(_SENTENCE_ENDS) else ""
