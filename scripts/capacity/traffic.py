"""Who calls, and for how much: users, the peak of a day, bursts, operations with their sizes, tiers.

All that is assumed stands here as a default, and is an option of the command.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS

OPERATIONS = (EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS)
# Where each operation's calls go, as the product does where no voice or model is named.
MODEL_OF = {
    EMBEDDINGS: "m3_embedder",
    RERANK: "m3_reranker",
    SPEECH: "piper_amy",
    TRANSCRIPTIONS: "whisper_turbo",
}
# What callers count, in words.
UNIT_OF = {EMBEDDINGS: "tokens", RERANK: "tokens", SPEECH: "characters", TRANSCRIPTIONS: "seconds of audio"}
_MILLION = 1_000_000
# What these are priced by: how many, in words.
PRICED_BY = {
    EMBEDDINGS: (_MILLION, "a million tokens"),
    RERANK: (_MILLION, "a million tokens"),
    SPEECH: (_MILLION, "a million characters"),
    TRANSCRIPTIONS: (3600, "an hour of audio"),
}
# Of the sentences of make bench: each sound is followed by a pad.
IDS_PER_CHARACTER = 2.1
SENTENCE_CHARACTERS = 75
_DAY = 86_400.0


@dataclass(frozen=True)
class Share:
    """An operation's part of all calls, and the mean size of one: tokens, characters or seconds of audio."""

    part: float
    size: float


@dataclass(frozen=True)
class Traffic:
    """``users``, of whom the part ``active`` makes so many ``calls`` a day.

    The busiest moment of a day has ``peak`` times the mean. ``bursty`` of all calls come in bursts of ``burst`` within
    a second, of one key. ``tiers`` are parts of all calls, from the first tier to the last; so many ``users_per_key``
    share a key.
    """

    users: float
    active: float = 0.1
    calls: float = 20.0
    peak: float = 3.0
    bursty: float = 0.1
    burst: int = 20
    shares: Mapping[str, Share] = field(
        default_factory=lambda: {
            EMBEDDINGS: Share(0.5, 200.0),
            RERANK: Share(0.1, 3200.0),
            SPEECH: Share(0.2, 150.0),
            TRANSCRIPTIONS: Share(0.2, 10.0),
        }
    )
    tiers: tuple[float, ...] = (0.1, 0.3, 0.6)
    users_per_key: float = 1000.0

    @property
    def peak_rate(self) -> float:
        """Calls a second at the busiest moment of a day."""
        return self.users * self.active * self.calls / _DAY * self.peak
