"""Records a server's answers, for comparison with other servers."""

import base64
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from client.verify.checks import OPERATIONS, check
from client.verify.facts import Facts, Heard, Recording, Spoken, Vector
from client.verify.people import clips, hearing
from client.verify.questions import Questions, RefusedError, Transcript
from client.verify.speech import say, voices
from client.verify.texts import Embedded, logit, units
from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS

_LEAST_SCORE = 1e-6
_CLOSEST = {"vector": 1e-9, "logit": 1e-5}  # smallest tolerances
_TEMPERATURES = ((0.0, 2), (0.01, 5))  # with the number of requests at each
# Another ONNX Runtime changes int8 by some 2e-4, and Whisper uses bfloat16 on processors that have it.
_OF_AUDIO = {"logprob": 0.05, "logprobs": 0.015, "length": 0.15, "loudness": 3.0}
_LIMITS = {
    "int8": {"vector": 4e-4, "logit": 0.1, **_OF_AUDIO},
    "bf16": {"vector": 2e-4, "logit": 0.05, **_OF_AUDIO},
    "fp16": {"vector": 1e-4, "logit": 0.02, **_OF_AUDIO},
    "fp32": {"vector": 1e-5, "logit": 2e-3, **_OF_AUDIO},
}


async def record(api: Questions, facts: Facts, precision: str, operations: Collection[str] = OPERATIONS) -> Facts:
    """The facts with this server's answers, which replace earlier ones of this precision.

    Published facts that do not hold on it are left out. ``RefusedError`` if it does not answer everything of the
    ``operations``, or answers differently the second time.
    """
    embedded = await Embedded.ask(api, facts) if EMBEDDINGS in operations else None
    ranked = [await api.rerank(each.query, each.documents) for each in facts.rankings if RERANK in operations]
    vectors = [embedded.vectors[text.text] for text in facts.texts] if embedded else []
    hears = hearing(api) if TRANSCRIPTIONS in operations else ()
    recording = Recording(
        precision=precision,
        limits=_limits(precision, vectors, [scores for scores, _ in ranked]),
        tokens=[embedded.tokens[text.text] for text in facts.texts] if embedded else [],
        vectors=[_direction(vector) for vector in vectors],
        ranking_tokens=[tokens for _, tokens in ranked],
        scores=[scores for scores, _ in ranked],
        heard={model: [await _heard(api, model, clip) for clip in clips()] for model in hears},
        spoken=await _spoken(api, facts) if SPEECH in operations else {},
    )
    others = [other for other in facts.recordings if other.precision != precision]
    recorded = replace(facts, recordings=[*others, recording], model="".join(api.named.values()))
    failed = [row for row in await check(api, recorded, precision, operations) if row.ok is False]
    if unsteady := [row for row in failed if not row.part]:
        raise RefusedError(f"another answer to the same question: {unsteady[0].fact}: {unsteady[0].got}")
    return recorded.without({row.part for row in failed})


def _limits(precision: str, vectors: list[Vector], scores: list[list[float]]) -> dict[str, float]:
    """The default tolerances, or less for a model that hardly tells texts apart, such as one with random weights."""
    apart = dict[str, float]()
    if vectors:
        rows = units(vectors)
        apart["vector"] = 1 - float((rows @ rows.T).mean())
    if scores:
        logits = logit(np.clip(np.array([score for row in scores for score in row]), _LEAST_SCORE, 1 - _LEAST_SCORE))
        apart["logit"] = float(logits.std())
    usual = _LIMITS[precision]
    return usual | {name: max(_CLOSEST[name], usual[name] * min(1.0, spread)) for name, spread in apart.items()}


def _direction(vector: Vector) -> str:
    return base64.b64encode(units([vector]).astype("<f4").tobytes()).decode("ascii")


async def _heard(api: Questions, model: str, clip: bytes) -> Heard:
    """Ask twice, and if the answers differ, more often at a low temperature."""
    answers: list[Transcript] = []
    for temperature, times in _TEMPERATURES:
        answers = [await api.hear(model, clip, temperature) for _ in range(times)]
        if len({(answer.text, answer.logprob) for answer in answers}) == 1:
            return Heard(answers[0].language, answers[0].text, answers[0].logprob, temperature)
    return Heard(answers[0].language, None, answers[0].logprob)


async def _spoken(api: Questions, facts: Facts) -> dict[str, list[Spoken]]:
    """Each voice's sentences."""
    sentences: dict[str, list[Spoken]] = {}
    for voice in voices(facts):
        said = (await say(api, facts, voice)).sentences
        sentences[voice.name] = [Spoken(round(each.seconds, 3), round(each.decibels, 1)) for each in said]
    return sentences
