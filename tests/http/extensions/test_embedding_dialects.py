"""Embeddings as TEI's clients ask for them, with the extension and without."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from huggingface_hub import InferenceClient

from frontend.config.settings import Settings
from tests.charges import charges
from tests.conftest import KEY, Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import APART, refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "rerank_dialects"}
EMBED, SIMILARITY = "/embed", "/similarity"
# The fake's vectors are the same for texts of as many tokens, and otherwise at right angles.
COMPARED = {"source_sentence": "a b", "sentences": ["c d", "a"]}
LONG = "a " * 9000


async def _post(client: Client, path: str, body: dict[str, Any]) -> Any:
    response = await client.post(path, json=body)
    assert response.status == 200, await response.text()
    assert "X-RateLimit-Remaining" in response.headers
    return await response.json()


@pytest.mark.parametrize(("inputs", "count"), [("a", 1), (["a", "b c"], 2)])
async def test_tei_gets_its_array_of_vectors(client: Client, inputs: Any, count: int) -> None:
    body = {"inputs": inputs, "truncate": True, "normalize": False, "truncation_direction": "Right", "dimensions": 64}
    vectors = await _post(client, EMBED, body)
    assert [len(vector) for vector in vectors] == [1024] * count


async def test_a_text_is_compared_with_others(client: Client) -> None:
    assert await _post(client, SIMILARITY, {"inputs": COMPARED, "parameters": {"truncate": True}}) == [1.0, 0.0]
    most = {**COMPARED, "sentences": ["a"] * 32}
    assert len(await _post(client, SIMILARITY, {"inputs": most})) == 32


async def test_hugging_faces_client_embeds_and_compares(client: Client) -> None:
    def call() -> tuple[Any, Any]:
        asking = InferenceClient(token=KEY)
        vectors = asking.feature_extraction("a", model=str(client.make_url(EMBED)), normalize=True, truncate=True)
        return vectors.shape, asking.sentence_similarity(
            "a b", other_sentences=["c d", "a"], model=str(client.make_url(SIMILARITY))
        )

    assert await asyncio.to_thread(call) == ((1, 1024), [1.0, 0.0])


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        (EMBED, {}, "inputs"),
        (EMBED, {"input": "a"}, "input"),
        (EMBED, {"inputs": ""}, "inputs"),
        (EMBED, {"inputs": [1, 2]}, "inputs"),
        (EMBED, {"inputs": ["a"] * 33}, "inputs"),
        (EMBED, {"inputs": "a", "prompt_name": "query"}, "prompt_name"),
        (EMBED, {"inputs": "a", "normalize": 1}, "normalize"),
        (EMBED, {"inputs": "a", "truncation_direction": "left"}, "truncation_direction"),
        (SIMILARITY, {}, "source_sentence"),
        (SIMILARITY, {"inputs": "a"}, "inputs"),
        (SIMILARITY, {"inputs": {"source_sentence": "a"}}, "sentences"),
        (SIMILARITY, {"inputs": {**COMPARED, "more": 1}}, "more"),
        (SIMILARITY, {"inputs": {**COMPARED, "sentences": ["a"] * 33}}, "sentences"),
        (SIMILARITY, {"inputs": COMPARED, "parameters": {"prompt_name": "q"}}, "prompt_name"),
        (SIMILARITY, {"inputs": COMPARED, "truncate": True}, "truncate"),
    ],
)
async def test_a_bad_parameter_is_400_and_named(client: Client, path: str, body: dict[str, Any], named: str) -> None:
    assert await refusal(await client.post(path, json=body)) == (400, named)


@pytest.mark.parametrize(
    ("path", "body"),
    [(EMBED, {"inputs": LONG}), (SIMILARITY, {"inputs": {"source_sentence": "a", "sentences": [LONG]}})],
)
async def test_long_texts_are_cut_unless_the_request_says_no(client: Client, path: str, body: dict[str, Any]) -> None:
    kept = {"truncate": False} if path == EMBED else {"parameters": {"truncate": False}}
    assert (await client.post(path, json=body)).status == 200
    assert (await client.post(path, json={**body, **kept})).status == 413


@pytest.mark.parametrize("path", [EMBED, SIMILARITY])
async def test_the_paths_need_a_key(client: Client, path: str) -> None:
    assert (await client.post(path, json={}, headers={"Authorization": "Bearer wrong"})).status == 401


async def test_a_text_and_32_others_are_one_request(client: Client, triton: FakeTriton) -> None:
    left = []
    for path, body in (
        (EMBED, {"inputs": ["a"] * 32}),
        (SIMILARITY, {"inputs": {"source_sentence": "a", "sentences": ["a"] * 32}}),
        (EMBED, {"inputs": "a"}),
    ):
        async with client.post(path, json=body) as response:
            left.append(int(response.headers["X-RateLimit-Remaining"]))
    assert [before - after for before, after in pairwise(left)] == [1, 1]
    # They wait for no other requests of the key, as large batches do.
    going = asyncio.Event()
    triton.wait = going.wait
    triton.calls.clear()
    most = {**COMPARED, "sentences": ["a"] * 32}
    asking = [asyncio.create_task(client.post(SIMILARITY, json={"inputs": most})) for _ in range(2)]
    await until(lambda: len(triton.calls) == 2)
    going.set()
    assert [(await each).status for each in asking] == [200, 200]


@APART
@pytest.mark.settings(extensions="rerank_dialects")
async def test_both_cost_what_embeddings_cost(client: Client, settings: Settings) -> None:
    texts = ["a b", "c d", "a"]
    await _post(client, "/v1/embeddings", {"input": texts})
    await _post(client, EMBED, {"inputs": texts})
    await _post(client, SIMILARITY, {"inputs": COMPARED})
    rows = await charges(client, settings)
    assert len({(row["model"], row["quantity"], row["operation"]) for row in rows}) == 1
    assert len(rows) == 3


@pytest.mark.contract_only
@APART
@pytest.mark.parametrize("path", [EMBED, SIMILARITY])
async def test_without_the_extension_there_are_no_such_paths(client: Client, path: str) -> None:
    assert (await client.post(path, json={}, headers={"Authorization": ""})).status == 404
