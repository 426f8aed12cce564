"""Rerank as Cohere, Jina and TEI ask for it, with the extension and without."""

from typing import Any

import numpy as np
import pytest

from frontend.config.settings import Settings
from frontend.operations.rerank.pipeline import order, raw
from tests.charges import charges
from tests.conftest import Client
from tests.http.calls import APART, refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "rerank_dialects"}
COHERE, PLAIN = "/v2/rerank", "/rerank"
# The fake's score falls with the number of tokens.
TEXTS = ["a b c d", "a", "a b"]
BODY = {"query": "q", "documents": TEXTS}
TEI = {"query": "q", "texts": TEXTS}


async def _post(client: Client, path: str, body: dict[str, Any]) -> Any:
    response = await client.post(path, json=body)
    assert response.status == 200, await response.text()
    return await response.json()


async def test_cohere_gets_its_own_answer(client: Client) -> None:
    sent = {**BODY, "top_n": 2, "priority": 5}
    response = await client.post(COHERE, json=sent, headers={"X-Request-Id": "mine"})
    assert await response.json() == {
        "id": "mine",
        "results": [{"index": 1, "relevance_score": 0.166667}, {"index": 2, "relevance_score": 0.142857}],
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1, "input_tokens": 22}},
    }
    assert "X-RateLimit-Remaining" in response.headers


async def test_tei_gets_its_array(client: Client) -> None:
    ranked = await _post(client, PLAIN, {**TEI, "return_text": True, "truncation_direction": "Right", "top_n": 2})
    assert ranked == [{"index": 1, "score": 0.166667, "text": "a"}, {"index": 2, "score": 0.142857, "text": "a b"}]
    assert [set(each) for each in await _post(client, PLAIN, TEI)] == [{"index", "score"}] * 3


@pytest.mark.parametrize("name", ["top_n", "top_k"])
async def test_jinas_body_gets_the_contracts_answer(client: Client, name: str) -> None:
    ranking = await _post(client, PLAIN, {**BODY, name: 1})
    assert (ranking["object"], [each["index"] for each in ranking["results"]]) == ("list", [1])


@pytest.mark.parametrize("path", ["/v1/rerank", COHERE, PLAIN])
async def test_documents_may_be_objects_with_a_text(client: Client, path: str) -> None:
    documents = [{"text": "a b c d", "title": {"any": "thing"}}, "a", {"text": "a b"}]
    ranking = await _post(client, path, {"query": "q", "documents": documents, "return_documents": True})
    assert [each["document"] for each in ranking["results"]] == [{"text": "a"}, {"text": "a b"}, {"text": "a b c d"}]


async def test_a_document_is_cut_to_the_tokens_that_cohere_asks_for(client: Client) -> None:
    ranking = await _post(client, COHERE, {**BODY, "max_tokens_per_doc": 1})
    assert [each["relevance_score"] for each in ranking["results"]] == [0.166667] * 3


async def test_raw_scores_come_without_the_sigmoid(client: Client) -> None:
    ranked = await _post(client, PLAIN, {**TEI, "raw_scores": True})
    assert ranked[0] == {"index": 1, "score": pytest.approx(np.log(0.2), abs=1e-6)}


async def test_raw_scores_are_finite() -> None:
    assert order(raw(np.array([0, 1, 0.5], np.float32))) == [(1, 16.635532), (2, 0.0), (0, -87.336545)]


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        (COHERE, {**BODY, "rank_fields": ["title"]}, "rank_fields"),
        (COHERE, {**BODY, "top_k": 1}, "top_k"),
        (COHERE, {**BODY, "max_tokens_per_doc": 0}, "max_tokens_per_doc"),
        (COHERE, {**BODY, "priority": 1000}, "priority"),
        (COHERE, {**BODY, "model": "rerank-v3.5"}, "model"),
        (COHERE, {**BODY, "documents": [{"title": "a"}]}, "documents"),
        (COHERE, {**BODY, "documents": [{"text": {"text": "a"}}]}, "documents"),
        (COHERE, {**BODY, "documents": [["a"]]}, "documents"),
        (COHERE, TEI, "texts"),
        (PLAIN, {**BODY, "top_n": 1, "top_k": 1}, "top_k"),
        (PLAIN, {**BODY, "texts": ["a"]}, "documents"),
        (PLAIN, {**TEI, "top_k": 1}, "top_k"),
        (PLAIN, {**TEI, "texts": ["a"] * 33}, "texts"),
        (PLAIN, {**TEI, "truncation_direction": "left"}, "truncation_direction"),
        (PLAIN, {**TEI, "truncate": "yes"}, "truncate"),
        ("/v1/rerank", {**BODY, "max_tokens_per_doc": 1}, "max_tokens_per_doc"),
    ],
)
async def test_a_bad_parameter_is_400_and_named(client: Client, path: str, body: dict[str, Any], named: str) -> None:
    assert await refusal(await client.post(path, json=body)) == (400, named)


async def test_tei_may_refuse_texts_that_are_too_long(client: Client) -> None:
    sent = {"query": "q", "texts": ["a " * 9000]}
    assert (await client.post(PLAIN, json={**sent, "truncate": True})).status == 200
    assert (await client.post(PLAIN, json={**sent, "truncate": False})).status == 413


@pytest.mark.parametrize("path", [COHERE, PLAIN])
async def test_the_paths_need_a_key(client: Client, path: str) -> None:
    assert (await client.post(path, json=BODY, headers={"Authorization": "Bearer wrong"})).status == 401


@APART
@pytest.mark.settings(extensions="rerank_dialects")
async def test_every_dialect_costs_the_same(client: Client, settings: Settings) -> None:
    for path, body in ((COHERE, BODY), (PLAIN, BODY), (PLAIN, TEI), ("/v1/rerank", BODY)):
        await _post(client, path, body)
    assert [(row["model"], row["quantity"]) for row in await charges(client, settings)] == [("rerank-v2-m3", 22)] * 4


@pytest.mark.contract_only
@APART
@pytest.mark.parametrize("path", [COHERE, PLAIN])
async def test_without_the_extension_there_are_no_such_paths(client: Client, path: str) -> None:
    assert (await client.post(path, json=BODY, headers={"Authorization": ""})).status == 404
