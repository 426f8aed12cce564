"""What one HTTP request is to the models: the sizes of its parts, whatever its words are."""

from dataclasses import dataclass

from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS

OPERATIONS = (EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS)
# Where each operation's calls go, as the product does where no voice or model is named.
MODEL_OF = {
    EMBEDDINGS: "m3_embedder",
    RERANK: "m3_reranker",
    SPEECH: "piper_amy",
    TRANSCRIPTIONS: "whisper_turbo",
}
# What the parts of a request are counted in, and what callers count, in words.
UNIT_OF = {EMBEDDINGS: "tokens", RERANK: "tokens", SPEECH: "characters", TRANSCRIPTIONS: "seconds of audio"}
_MILLION = 1_000_000
# What these are priced by: how many, in words.
PRICED_BY = {
    EMBEDDINGS: (_MILLION, "a million tokens"),
    RERANK: (_MILLION, "a million tokens"),
    SPEECH: (_MILLION, "a million characters"),
    TRANSCRIPTIONS: (3600, "an hour of audio"),
}


@dataclass(frozen=True)
class Request:
    """``units`` are tokens, characters or seconds of audio.

    ``parts`` are what its calls are made of: tokens of texts or of pairs; phoneme ids of the first sentence, and of the
    others (``rest``); seconds of windows of speech. ``voice`` is the model of a voice, where it is not the usual one.
    """

    operation: str
    units: float
    parts: tuple[float, ...]
    rest: tuple[float, ...] = ()
    voice: str = ""

    @property
    def model(self) -> str:
        """Where its calls go."""
        return self.voice or MODEL_OF[self.operation]

    @property
    def count(self) -> int:
        """How many parts there are in all."""
        return len(self.parts) + len(self.rest)
