"""A server that answers as the demo's models were recorded, and with faults."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from client.verify.facts import Facts, People, Recording, load
from client.verify.people import clips
from client.verify.questions import Questions, Transcript
from client.verify.rows import Row

# Of what is compared with texts alone, no vectors are recorded, and of people only what is sent one by one.
DEMO = replace(load("demo"), alike=[], people=People())
CLIPS = clips()
RECORDINGS = {recording.precision: recording for recording in DEMO.recordings}

Vectors = NDArray[np.float32]


def _same(answer: Any) -> Any:
    return answer


@dataclass
class Recorded(Questions):
    """``vectors``, ``tokens``, ``scores`` and ``heard`` are what becomes of the recorded ones.

    ``weigh`` answers the published weights of texts, with ``more`` for each token in company.
    """

    recording: Recording = field(default_factory=lambda: RECORDINGS["int8"])
    facts: Facts = DEMO
    vectors: Callable[[Vectors], Vectors] = _same
    tokens: Callable[[int], int] = _same
    scores: Callable[[list[float]], list[float]] = _same
    heard: Callable[[Transcript], Transcript] = _same
    more: float = 0.0

    async def embed(self, texts: list[str]) -> tuple[Vectors, int]:
        places = [[each.text for each in self.facts.texts].index(text) for text in texts]
        known = np.stack([self.recording.vector(place) for place in places])
        return self.vectors(known), self.tokens(sum(self.recording.tokens[place] for place in places))

    async def weigh(self, texts: list[str]) -> list[dict[int, float]]:
        published = {each.text: each.weights for each in load("hub").weighed}
        more = self.more * (len(texts) > 1)
        return [{token: weight + more for token, weight in published[text].items()} for text in texts]

    async def rerank(self, query: str, documents: list[str]) -> tuple[list[float], int]:
        place = [each.query for each in self.facts.rankings].index(query)
        return self.scores(self.recording.scores[place]), self.tokens(self.recording.ranking_tokens[place])

    async def hear(self, model: str, file: bytes, temperature: float = 0.0) -> Transcript:
        place = CLIPS.index(file)
        known = self.recording.heard[model][place]
        return self.heard(Transcript(known.text or "", known.language, known.logprob, []))


def failed(rows: list[Row]) -> set[str]:
    """What does not hold, whichever Whisper was asked."""
    return {row.fact.removeprefix("stt-1").removeprefix("-hd").lstrip(": ") for row in rows if row.ok is False}
