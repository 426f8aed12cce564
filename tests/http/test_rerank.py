from typing import Any

import numpy as np
import pytest

from frontend.operations.packed_model import PackedModel
from frontend.operations.rerank.pipeline import order, raw
from tests.conftest import Client
from tests.http.calls import contract_only, refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "/v1/rerank"
# The fake's score falls with the number of tokens.
DOCUMENTS = ["a b c d", "a", "a b"]


async def _post(client: Client, **body: Any) -> Any:
    return await (await client.post(PATH, json={"query": "q", "documents": DOCUMENTS, **body})).json()


async def test_results_are_sorted_by_score(client: Client) -> None:
    answer = await _post(client)
    assert [result["index"] for result in answer["results"]] == [1, 2, 0]
    assert answer["object"] == "list"
    assert answer["model"] == "rerank-v2-m3"


@pytest.mark.parametrize(("top_n", "count"), [(1, 1), (2, 2), (99, 3), (None, 3)])
async def test_top_n_bounds_the_results(client: Client, top_n: int | None, count: int) -> None:
    assert len((await _post(client, top_n=top_n))["results"]) == count


async def test_documents_are_left_out_unless_asked_for(client: Client) -> None:
    assert all("document" not in result for result in (await _post(client))["results"])


async def test_documents_are_returned_on_demand(client: Client) -> None:
    results = (await _post(client, return_documents=True))["results"]
    assert [result["document"]["text"] for result in results] == ["a", "a b", "a b c d"]


async def test_equal_scores_keep_the_order_of_the_documents(client: Client) -> None:
    answer = await _post(client, documents=["a b", "c d", "e f"])
    assert [result["index"] for result in answer["results"]] == [0, 1, 2]


async def test_an_empty_document_is_scored(client: Client) -> None:
    assert len((await _post(client, documents=["", "a"]))["results"]) == 2


async def test_a_request_is_as_long_as_its_query_and_its_documents(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long ones are tokenized in a thread.
    tokenize, lengths = PackedModel.tokenize, list[int]()

    async def noted(model: PackedModel, function: Any, texts: list[str], *others: Any, shared: str) -> Any:
        lengths.append(len(shared) + sum(map(len, texts)))
        context, memory = others
        return await tokenize(model, function, texts, context, memory, shared)

    monkeypatch.setattr(PackedModel, "tokenize", noted)
    await _post(client, query="what", documents=["a b", "c"])
    assert lengths == [8]


async def test_usage_counts_the_tokens_of_all_pairs(client: Client) -> None:
    assert (await _post(client, documents=["a", "a b"]))["usage"] == {"total_tokens": 13}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"query": ""}, "query"),
        ({"query": 1}, "query"),
        ({"documents": []}, "documents"),
        contract_only({"documents": ["a"] * 33}, "documents"),
        ({"documents": ["a"] * 2049}, "documents"),
        contract_only({"documents": [{"text": "a"}]}, "documents"),
        ({"documents": "a"}, "documents"),
        ({"top_n": 0}, "top_n"),
        ({"top_n": 1.5}, "top_n"),
        ({"return_documents": "yes"}, "return_documents"),
        ({"model": "other"}, "model"),
        ({"max_chunks": 1}, "max_chunks"),
    ],
)
async def test_a_bad_parameter_is_400_and_named(client: Client, body: dict[str, Any], param: str) -> None:
    response = await client.post(PATH, json={"query": "q", "documents": DOCUMENTS, **body})
    assert await refusal(response) == (400, param)


async def test_a_score_has_six_digits() -> None:
    assert order(np.array([0.1234567], np.float32)) == [(0, 0.123457)]


async def test_a_raw_score_is_that_before_the_sigmoid() -> None:
    assert raw(np.array([0.5, 0.75, 0.25], np.float32)) == pytest.approx([0.0, np.log(3), -np.log(3)])
