from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from client.tests.verify.answers import DEMO, RECORDINGS, Recorded, Vectors
from client.verify.facts import Cosine, Facts, Ranking, load
from client.verify.rows import Row
from client.verify.texts import embeddings, rankings

HUB = load("hub")


def _wrong(rows: list[Row]) -> set[str]:
    """What the facts that do not hold are about."""
    return {row.fact.partition(":")[0] for row in rows if not row.ok}


def _logits(scores: list[float]) -> list[float]:
    return [float(np.log(score / (1 - score))) for score in scores]


def _moved(scores: list[float]) -> list[float]:
    """By a fifth of a logit."""
    return [float(1 / (1 + np.exp(-each - 0.2))) for each in _logits(scores)]


def _turned(vectors: Vectors) -> Vectors:
    """By an angle that lowers the cosine by two thousandths."""
    away = np.zeros_like(vectors)
    away[:, -1] = np.sqrt(4e-3)
    turned: Vectors = (vectors + away) / np.float32(np.sqrt(1 + 4e-3))
    return turned


def _in_company(vectors: Vectors) -> Vectors:
    return vectors + np.float32(1e-3) * (len(vectors) > 1)


@pytest.mark.parametrize("precision", RECORDINGS)
@pytest.mark.parametrize("is_given", [False, True])
async def test_every_fact_holds_on_what_was_recorded(precision: str, is_given: bool) -> None:
    api = Recorded(RECORDINGS[precision])
    given = precision if is_given else ""
    assert _wrong(await embeddings(api, DEMO, given) + await rankings(api, DEMO, given)) == set()


@pytest.mark.parametrize(
    ("api", "wrong"),
    [
        (Recorded(vectors=lambda vectors: vectors * 3), {"length of 27 vectors, the worst"}),
        (Recorded(vectors=_turned), {"1 - cosine to int8"}),
        (Recorded(vectors=_in_company), {"27 texts alone and in company"}),
        (Recorded(vectors=lambda vectors: vectors[:, :384]), {"numbers in a vector"}),
        (Recorded(tokens=lambda count: count + 1), {"tokens of"}),
    ],
    ids=["longer", "turned", "in company", "cut", "tokens"],
)
async def test_a_fault_in_vectors_fails(api: Recorded, wrong: set[str]) -> None:
    assert _wrong(await embeddings(api, DEMO, "")) == wrong


@pytest.mark.parametrize(
    "cut", [lambda vectors: vectors[:, :384], lambda vectors: vectors[:-1]], ids=["shorter", "fewer"]
)
async def test_vectors_of_another_shape_in_company_fail(cut: Callable[[Vectors], Vectors]) -> None:
    """Those of the last request alone, which is not of sixteen texts."""
    api = Recorded(vectors=lambda vectors: cut(vectors) if 1 < len(vectors) < 16 else vectors)
    assert _wrong(await embeddings(api, DEMO, "")) == {"vectors alone and in company"}


async def test_vectors_of_nan_fail() -> None:
    api = Recorded(vectors=lambda vectors: vectors * np.float32(np.nan))
    assert "length of 27 vectors, the worst" in _wrong(await embeddings(api, DEMO, ""))


@pytest.mark.parametrize(
    ("api", "wrong"),
    [
        (Recorded(scores=_logits), {"scores of", "logits to int8"}),
        (Recorded(scores=_moved), {"logits to int8"}),
        (Recorded(scores=lambda scores: scores[::-1]), {"best for", "logits to int8"}),
        (Recorded(tokens=lambda count: count + 1), {"tokens of pairs"}),
    ],
    ids=["no sigmoid", "moved", "other order", "tokens"],
)
async def test_a_fault_in_scores_fails(api: Recorded, wrong: set[str]) -> None:
    assert _wrong(await rankings(api, DEMO, "")) == wrong


async def test_a_server_of_another_precision_has_wider_tolerances() -> None:
    api, facts = Recorded(RECORDINGS["int8"]), replace(DEMO, recordings=[RECORDINGS["fp32"]])
    assert _wrong(await embeddings(api, facts, "")) == {"1 - cosine to fp32"}
    assert _wrong(await embeddings(api, facts, "int8")) == set()


@pytest.mark.parametrize(("precision", "wrong"), [("int8", set()), ("", set()), ("fp32", {"cosine of"})])
async def test_the_tolerance_of_a_published_cosine_depends_on_the_precision(precision: str, wrong: set[str]) -> None:
    first, second = (each.text for each in DEMO.texts[:2])
    cosine = float(RECORDINGS["int8"].vector(0) @ RECORDINGS["int8"].vector(1))
    facts = Facts("", cosines=[Cosine(first, second, cosine + 0.005)], cosine_limits={"int8": 0.01, "fp32": 0.002})
    assert _wrong(await embeddings(Recorded(), facts, precision)) == wrong


@pytest.mark.parametrize(
    ("moved", "more", "wrong"),
    [
        (0.0, 0.0, set()),
        (0.02, 0.0, {"weights of"}),
        (0.0, 1e-3, {"weights of 2 texts alone and in company"}),
    ],
    ids=["as published", "moved", "in company"],
)
async def test_weights_of_tokens_are_those_that_are_published(moved: float, more: float, wrong: set[str]) -> None:
    known = [replace(each, values=[value + moved for value in each.values]) for each in HUB.weighed]
    facts = replace(DEMO, weighed=known, weight_limits=HUB.weight_limits)
    assert _wrong(await embeddings(Recorded(RECORDINGS["fp32"], more=more), facts, "fp32")) == wrong


async def test_of_another_model_weights_are_compared_with_themselves() -> None:
    rows = await embeddings(Recorded(), replace(DEMO, weighed=HUB.weighed).of_any_model(), "")
    assert [row.fact for row in rows if "weights" in row.fact] == ["weights of 2 texts alone and in company"]


@pytest.mark.parametrize(("published", "wrong"), [(0.000278, set()), (0.000305, {"score of"})])
async def test_a_published_score_is_compared_as_a_logit(published: float, wrong: set[str]) -> None:
    query = DEMO.rankings[0]
    facts = Facts("", rankings=[Ranking(query.query, ["hi"], [published])], logit_limits={"int8": 0.05})
    assert _wrong(await rankings(Recorded(scores=lambda _: [0.000278]), facts, "int8")) == wrong
