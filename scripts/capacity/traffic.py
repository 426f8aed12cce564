"""How much users call: the peak of a day, and each operation's share and size.

The defaults are assumptions; each is an option of the command.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS

OPERATIONS = (EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS)
# The Triton model of a call that names no model or voice.
MODEL_OF = {
    EMBEDDINGS: "m3_embedder",
    RERANK: "m3_reranker",
    SPEECH: "piper_amy",
    TRANSCRIPTIONS: "whisper_turbo",
}
UNIT_OF = {EMBEDDINGS: "tokens", RERANK: "tokens", SPEECH: "characters", TRANSCRIPTIONS: "seconds of audio"}
_MILLION = 1_000_000
# The amount that a price is given for, in units and in words.
PRICED_BY = {
    EMBEDDINGS: (_MILLION, "a million tokens"),
    RERANK: (_MILLION, "a million tokens"),
    SPEECH: (_MILLION, "a million characters"),
    TRANSCRIPTIONS: (3600, "an hour of audio"),
}
# Phoneme ids and characters of the sentences of 'make bench'. A pad follows each phoneme id.
IDS_PER_CHARACTER = 2.1
SENTENCE_CHARACTERS = 75
_DAY_SECONDS = 86_400.0


@dataclass(frozen=True)
class Share:
    """An operation's ``part`` of all calls, and the mean ``size`` of one: tokens, characters or seconds of audio."""

    part: float
    size: float


@dataclass(frozen=True)
class Traffic:
    """The share ``active`` of ``users`` makes ``calls`` per day each.

    The busiest moment of a day has ``peak`` times the mean.
    """

    users: float
    active: float = 0.1
    calls: float = 20.0
    peak: float = 3.0
    shares: Mapping[str, Share] = field(
        default_factory=lambda: {
            EMBEDDINGS: Share(0.5, 200.0),
            RERANK: Share(0.1, 3200.0),
            SPEECH: Share(0.2, 150.0),
            TRANSCRIPTIONS: Share(0.2, 10.0),
        }
    )

    @property
    def peak_rate(self) -> float:
        """Calls per second at the busiest moment of a day."""
        return self.users * self.active * self.calls / _DAY_SECONDS * self.peak
