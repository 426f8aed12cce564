"""Checks of embeddings and rankings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple

import numpy as np
from numpy.typing import NDArray

from client.verify.facts import Facts, Ranking, Vector
from client.verify.questions import Questions, RefusedError
from client.verify.rows import Row, asked, at_most, nearest, same, within

_AT_ONCE = 16  # texts per request
_LENGTH_LIMIT = 1e-3  # tolerance of a vector's length
_COMPANY_LIMIT = 1e-4  # largest difference of a text alone and in a batch
# Tolerances of recorded vectors (1 - cosine) and scores (logits) for servers of another precision. The int8 of an
# export is at most 1e-3 from fp32.
_OTHER_VECTOR, _OTHER_LOGIT = 2e-3, 0.5
# Largest rounding error of scores, which have six decimals.
_ROUNDED = 5e-7
_WIDEST = "int8"  # the precision with the largest tolerances


class Embedded:
    """The answers to every text of the facts, each in its own request; ``vectors`` and ``tokens`` by text."""

    def __init__(self) -> None:
        self.vectors: dict[str, Vector] = {}
        self.tokens: dict[str, int] = {}

    @classmethod
    async def ask(cls, api: Questions, facts: Facts) -> "Embedded":
        answers, paired = cls(), [text for pair in facts.cosines for text in (pair.first, pair.second)]
        texts = [*(text.text for text in facts.texts), *paired, *(text for pair in facts.alike for text in pair)]
        for text in dict.fromkeys(texts):
            vectors, answers.tokens[text] = await api.embed([text])
            if len(vectors) != 1:
                raise RefusedError(f"{len(vectors)} vectors of one text")
            answers.vectors[text] = vectors[0]
        return answers

    def cosine(self, first: str, second: str) -> float:
        one, other = units([self.vectors[first], self.vectors[second]])
        return float(one @ other)


async def embeddings(api: Questions, facts: Facts, precision: str) -> list[Row]:
    """A row per fact about vectors and tokens."""
    answers = await Embedded.ask(api, facts)
    together: list[Vector] = []
    for start in range(0, len(answers.vectors), _AT_ONCE):
        together += [*(await api.embed(list(answers.vectors)[start : start + _AT_ONCE]))[0]]
    return [
        *_tokens(facts, answers),
        *_shape(answers, together),
        *_published(facts, answers, precision),
        *_recorded_vectors(facts, answers, precision),
        *await asked("weights of tokens", _weights(api, facts, precision)),
    ]


def _tokens(facts: Facts, answers: Embedded) -> list[Row]:
    """Token counts are exact in every precision."""
    known = [len(text.ids) for text in facts.texts]
    if facts.recordings:
        known = [there or said for there, said in zip(known, facts.recordings[0].tokens, strict=True)]
    return [
        same(f"tokens of: {text.text}", tokens, answers.tokens[text.text], "ids" if text.ids else "")
        for text, tokens in zip(facts.texts, known, strict=True)
        if tokens
    ]


def _shape(answers: Embedded, together: Sequence[Vector]) -> list[Row]:
    alone, count = list(answers.vectors.values()), len(answers.vectors)
    norms = np.array([np.linalg.norm(vector) for vector in alone])
    worst = float(norms[np.abs(norms - 1).argmax()])
    if [one.shape for one in alone] != [other.shape for other in together]:
        return [Row("vectors alone and in company", "as many", str(len(together)), "none", False)]
    change = max(float(np.abs(one - other).max()) for one, other in zip(alone, together, strict=True))
    return [
        within(f"length of {count} vectors, the worst", 1, worst, _LENGTH_LIMIT),
        at_most(f"{count} texts alone and in company", change, _COMPANY_LIMIT),
    ]


def _published(facts: Facts, answers: Embedded, precision: str) -> list[Row]:
    limit = facts.cosine_limits.get(precision or _WIDEST, 0.0)
    rows = [
        within(f"cosine of: {first} / {second}", cosine, answers.cosine(first, second), limit, "cosines")
        for first, second, cosine in (astuple(pair) for pair in facts.cosines)
    ]
    for place, (text, translation) in enumerate(facts.alike):
        others = [answers.cosine(text, other) for at, (_, other) in enumerate(facts.alike) if at != place]
        own, next_best = answers.cosine(text, translation), max(others)
        rows.append(Row(f"nearest to: {text}", f"> {next_best:.3f}", f"{own:.3f}", "none", own > next_best, "alike"))
    return rows


def _recorded_vectors(facts: Facts, answers: Embedded, precision: str) -> list[Row]:
    if not facts.recordings or not facts.texts:
        return []
    got = units([answers.vectors[text.text] for text in facts.texts])
    recorded = [units([each.vector(place) for place in range(len(facts.texts))]) for each in facts.recordings]
    if any(vectors.shape != got.shape for vectors in recorded):
        return [same("numbers in a vector", recorded[0].shape[1], got.shape[1])]
    away = [1 - (got * vectors).sum(axis=1) for vectors in recorded]
    means = [float(distances.mean()) for distances in away]
    recording, place, is_same = nearest(facts.recordings, "vector", means, precision)
    limit = recording.limits["vector"] if is_same else _OTHER_VECTOR
    return [
        at_most(f"1 - cosine to {recording.precision}: {text.text}", max(0.0, float(miss)), limit)
        for text, miss in zip(facts.texts, away[place], strict=True)
    ]


async def _weights(api: Questions, facts: Facts, precision: str) -> list[Row]:
    """Compare published weights of tokens, each text alone, and the weights of a text alone with those in company."""
    if not facts.weighed:
        return []
    alone = [(await api.weigh([each.text]))[0] for each in facts.weighed]
    together = await api.weigh([each.text for each in facts.weighed])
    limit = facts.weight_limits.get(precision or _WIDEST, 0.0)
    rows = [
        at_most(f"weights of: {known.text}", _apart(known.weights, got), limit, "weights")
        for known, got in zip(facts.weighed, alone, strict=True)
        if known.indices
    ]
    change = max(_apart(*pair) for pair in zip(alone, together, strict=True))
    return [*rows, at_most(f"weights of {len(alone)} texts alone and in company", change, _COMPANY_LIMIT)]


def _apart(expected: Mapping[int, float], got: Mapping[int, float]) -> float:
    """The length of the difference of two texts' weights, as a share of the length of those that are expected."""
    length = math.hypot(*(expected.get(token, 0) - got.get(token, 0) for token in expected.keys() | got.keys()))
    return length / max(math.hypot(*expected.values()), 1e-12)


def units(vectors: Sequence[Vector]) -> NDArray[np.float64]:
    """Vectors of length one, float64 [n, width], which resolves differences far below float32."""
    rows = np.stack(vectors).astype(np.float64)
    units: NDArray[np.float64] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return units


async def rankings(api: Questions, facts: Facts, precision: str) -> list[Row]:
    """A row per fact about scores."""
    answers = [await api.rerank(ranking.query, ranking.documents) for ranking in facts.rankings]
    rows: list[Row] = []
    for ranking, (scores, _) in zip(facts.rankings, answers, strict=True):
        rows += _scores(ranking, scores, facts.logit_limits.get(precision or _WIDEST, 0.0))
    if not facts.recordings:
        return rows
    counts = facts.recordings[0].ranking_tokens
    for ranking, tokens, (_, counted) in zip(facts.rankings, counts, answers, strict=True):
        rows.append(same(f"tokens of pairs: {ranking.query}", tokens, counted))
    away = [
        [_most_apart(*pair) for pair in zip(each.scores, (scores for scores, _ in answers), strict=True)]
        for each in facts.recordings
    ]
    means = [float(np.mean(distances)) for distances in away]
    recording, place, is_same = nearest(facts.recordings, "logit", means, precision)
    limit = recording.limits["logit"] if is_same else _OTHER_LOGIT
    return rows + [
        at_most(f"logits to {recording.precision}: {ranking.query}", miss, limit)
        for ranking, miss in zip(facts.rankings, away[place], strict=True)
    ]


def _scores(ranking: Ranking, scores: Sequence[float], limit: float) -> list[Row]:
    """Compare published scores as logits, because they lie near 0 and 1, and the best document."""
    rows = [
        Row(
            f"score of: {ranking.query} / {document}",
            f"{score:.4g}",
            f"{got:.4g}",
            f"logit {limit:g}",
            _most_apart([score], [got]) <= limit,
            "scores",
        )
        for document, score, got in zip(ranking.documents, ranking.scores, scores, strict=False)
    ]
    if outside := [score for score in scores if not 0 <= score <= 1]:
        rows.append(Row(f"scores of: {ranking.query}", "0 to 1", f"{outside[0]:.4g}", "none", False))
    if ranking.best >= 0:
        rows.append(same(f"best for: {ranking.query}", ranking.best, int(np.argmax(scores)), "best"))
    return rows


def _most_apart(expected: Sequence[float], got: Sequence[float]) -> float:
    """The largest difference of logits beyond rounding; infinite if a score is no probability."""
    known, actual = np.array(expected, np.float64), np.array(got, np.float64)
    if not ((actual >= 0) & (actual <= 1)).all():
        return float("inf")
    low, high = np.minimum(known, actual) + _ROUNDED, np.maximum(known, actual) - _ROUNDED
    apart = logit(np.clip(high, 1e-9, 1 - 1e-9)) - logit(np.clip(low, 1e-9, 1 - 1e-9))
    return float(np.maximum(apart, 0).max())


def logit(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of the sigmoid, [n]."""
    return np.log(score / (1 - score))
