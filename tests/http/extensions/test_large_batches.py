"""More inputs or documents than the contract has: cut into calls, fair to others, whole or not at all."""

import asyncio
import base64
import json
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest

from frontend.app_keys import DISPATCHER, MEMORY_BUDGET
from frontend.config.settings import Settings
from frontend.dispatch.admission import ModelCalls
from frontend.errors import BadGateway
from tests.charges import charges, other_key
from tests.conftest import Client, bearer
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import APART, EMBED, refusal
from tests.raw import connection, post

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "large_batches, rerank_dialects"}
ON = pytest.mark.settings(extensions="large_batches")
# Texts of different lengths; the fake's vectors have a one at the number of tokens: the words and two special ones.
TEXTS = [" ".join(["a"] * (1 + number % 7)) for number in range(70)]
PLACES = [3 + number % 7 for number in range(70)]
MOST = 2048
RERANK = "/v1/rerank"


async def _post(client: Client, path: str, **body: Any) -> Any:
    response = await client.post(path, json=body)
    assert response.status == 200, await response.text()
    return json.loads(await response.read())


async def test_vectors_and_usage_are_those_of_several_requests_in_the_order_of_the_inputs(client: Client) -> None:
    answer = await _post(client, EMBED, input=TEXTS)
    parts = [await _post(client, EMBED, input=TEXTS[start : start + 32]) for start in range(0, 70, 32)]
    assert [each["index"] for each in answer["data"]] == list(range(70))
    assert [each["embedding"] for each in answer["data"]] == [
        each["embedding"] for part in parts for each in part["data"]
    ]
    assert [int(np.argmax(each["embedding"])) for each in answer["data"]] == PLACES
    assert answer["usage"]["total_tokens"] == sum(part["usage"]["total_tokens"] for part in parts)
    assert {**answer, "data": 0, "usage": 0} == {**parts[0], "data": 0, "usage": 0}


async def test_as_many_as_openai_takes_come_back_as_base64(client: Client) -> None:
    answer = await _post(client, EMBED, input=["a"] * (MOST - 1) + ["a b c"], encoding_format="base64")
    assert len(answer["data"]) == MOST
    last = np.frombuffer(base64.b64decode(answer["data"][-1]["embedding"]), "<f4")
    assert (answer["data"][-1]["index"], int(np.argmax(last))) == (MOST - 1, 5)


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (EMBED, {"input": ["a"] * (MOST + 1)}, "input"),
        (EMBED, {"input": ["a"] * (MOST - 1) + [""]}, "input"),
        (EMBED, {"input": ["a"] * (MOST - 1) + [5]}, "input"),
        (RERANK, {"query": "a", "documents": ["a"] * (MOST + 1)}, "documents"),
        ("/v2/rerank", {"query": "a", "documents": ["a"] * (MOST + 1)}, "documents"),
        ("/embed", {"inputs": ["a"] * (MOST + 1)}, "inputs"),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": ["a"] * (MOST + 1)}}, "sentences"),
    ],
)
async def test_more_than_that_and_wrong_texts_are_refused(
    client: Client, triton: FakeTriton, path: str, body: dict[str, Any], param: str
) -> None:
    assert await refusal(await client.post(path, json=body)) == (400, param)
    assert triton.calls == []


async def test_documents_are_ranked_together(client: Client) -> None:
    answer = await _post(client, RERANK, query="q", documents=TEXTS, return_documents=True, top_n=40)
    expected = sorted(range(70), key=lambda index: (PLACES[index], index))[:40]
    assert [each["index"] for each in answer["results"]] == expected
    assert [each["document"]["text"] for each in answer["results"]] == [TEXTS[index] for index in expected]
    assert len((await _post(client, RERANK, query="q", documents=["a"] * MOST))["results"]) == MOST


async def test_the_dialects_of_cohere_jina_and_tei_take_as_many(client: Client) -> None:
    expected = sorted(range(70), key=lambda index: (PLACES[index], index))
    for path, body in (
        ("/v2/rerank", {"documents": TEXTS}),
        ("/rerank", {"documents": TEXTS}),
        ("/rerank", {"texts": TEXTS}),
    ):
        answer = await _post(client, path, query="q", **body)
        assert [each["index"] for each in (answer if isinstance(answer, list) else answer["results"])] == expected
    assert [int(np.argmax(vector)) for vector in await _post(client, "/embed", inputs=TEXTS)] == PLACES
    compared = await _post(client, "/similarity", inputs={"source_sentence": "a", "sentences": TEXTS})
    assert compared == [float(place == 3) for place in PLACES]


async def test_a_batch_is_cut_into_calls_of_which_few_are_in_flight(client: Client, triton: FakeTriton) -> None:
    in_flight, most = 0, 0

    async def wait() -> None:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.001)
        in_flight -= 1

    triton.wait = wait
    await _post(client, EMBED, input=["word " * 100] * 256, encoding_format="base64")
    assert max(inputs["lengths"].shape[1] for _, inputs in triton.calls) == 7
    assert sum(inputs["lengths"].shape[1] for _, inputs in triton.calls) == 256
    assert 1 < most <= 8


@APART
@ON
async def test_one_row_of_the_ledger_has_the_sum(client: Client, settings: Settings) -> None:
    answer = await _post(client, EMBED, input=TEXTS)
    (row,) = await charges(client, settings)
    assert row["quantity"] == answer["usage"]["total_tokens"]


@APART
@ON
@pytest.mark.parametrize(("path", "body"), [(EMBED, {"input": TEXTS}), (RERANK, {"query": "q", "documents": TEXTS})])
async def test_a_call_that_fails_fails_the_request_and_nothing_is_charged(
    client: Client, settings: Settings, triton: FakeTriton, path: str, body: dict[str, Any]
) -> None:
    async def fail_late() -> None:
        await asyncio.sleep(0)
        if len(triton.calls) > 1:
            raise BadGateway("the model is gone")

    triton.wait = fail_late
    sent = {name: [f"{text} word" * 60 for text in value] if value is TEXTS else value for name, value in body.items()}
    response = await client.post(path, json=sent)
    assert (response.status, (await response.json())["error"]["type"]) == (502, "bad_gateway")
    assert client.app[MEMORY_BUDGET]._total == 0
    assert await charges(client, settings) == []


@APART
@ON
async def test_a_caller_who_hangs_up_ends_the_calls_and_pays_nothing(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (_, writer):
        writer.write(post(EMBED, json.dumps({"input": ["word " * 100] * 256}).encode()))
        await until(lambda: len(triton.calls) >= 4)
    await until(lambda: not client.app[MEMORY_BUDGET]._total)
    seen = len(triton.calls)
    await asyncio.sleep(0.1)
    assert (len(triton.calls), client.app[DISPATCHER].queue("m3_embedder").demand <= seen) == (seen, True)
    assert await charges(client, settings) == []


@APART
@pytest.mark.settings(extensions="large_batches", limits={"embeddings": 10, "rerank": 3})
async def test_a_batch_counts_as_many_requests_as_it_could_have_been(client: Client, settings: Settings) -> None:
    key = bearer(await other_key(settings, limits={}))

    async def ask(path: str, **body: Any) -> tuple[int, str, str]:
        async with client.post(path, json=body, headers=key) as response:
            headers = response.headers
            await response.read()
            return response.status, headers["X-RateLimit-Limit"], headers["X-RateLimit-Remaining"]

    assert await ask(EMBED, input=TEXTS) == (200, "10", "7")
    assert await ask(EMBED, input=["a"] * 32) == (200, "10", "6")
    # The refused request has counted as one, as every one that is refused for its body.
    assert await ask(EMBED, input=["a"] * 193) == (429, "10", "5")
    assert await ask(EMBED, input=["a"] * 160) == (200, "10", "0")
    # More than the limit passes while there are no other requests.
    assert await ask(RERANK, query="q", documents=["a"] * 320) == (200, "3", "0")
    assert (await ask(RERANK, query="q", documents=["a"]))[0] == 429


@APART
@ON
async def test_small_requests_of_the_key_and_of_others_pass_a_large_batch(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    other = bearer(await other_key(settings))
    going = asyncio.Event()
    triton.wait = going.wait
    large = [asyncio.create_task(client.post(EMBED, json={"input": ["word " * 100] * MOST})) for _ in range(3)]
    await until(lambda: len(triton.calls) >= 4)
    small = [asyncio.create_task(client.post(EMBED, json={"input": "b"}, headers=key)) for key in (other, {})]
    await until(lambda: client.app[DISPATCHER].queue("m3_embedder").demand >= 10)
    before = len(triton.calls)
    triton.wait = partial(asyncio.sleep, 0.01)
    going.set()
    assert [(await each).status for each in small] == [200, 200]
    assert not any(each.done() for each in large)
    places = [place for place, (_, inputs) in enumerate(triton.calls) if inputs["lengths"].shape[1] == 1]
    # As many of the large batches' calls were in flight.
    assert len(places) == 2
    assert max(places) <= before + 8
    for each in large:
        each.cancel()


@APART
@pytest.mark.settings(extensions="large_batches", concurrency=4, queue_per_key=45)
async def test_large_batches_of_a_key_are_worked_on_one_after_another(client: Client, triton: FakeTriton) -> None:
    sent = {"input": ["word " * 100] * 100, "encoding_format": "base64"}
    answers = await asyncio.gather(*(client.post(EMBED, json=sent) for _ in range(40)))
    assert {answer.status for answer in answers} == {200}
    sizes = [inputs["lengths"].shape[1] for _, inputs in triton.calls]
    assert sizes == [*[7] * 14, 2] * 40


@APART
@ON
async def test_the_tokens_of_a_batch_count(client: Client, triton: FakeTriton) -> None:
    going = asyncio.Event()
    triton.wait = going.wait
    documents = ["a"] * MOST
    asking = asyncio.create_task(client.post(RERANK, json={"query": "word " * 500, "documents": documents}))
    await until(lambda: bool(triton.calls))
    # The query is in each pair.
    assert client.app[MEMORY_BUDGET]._total > 4 * 500 * MOST
    going.set()
    assert (await asking).status == 200
    await until(lambda: not client.app[MEMORY_BUDGET]._total)


@APART
@ON
@pytest.mark.parametrize("form", ["float", "base64"])
async def test_an_answer_takes_no_more_memory_than_its_vectors(client: Client, triton: FakeTriton, form: str) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(post(EMBED, json.dumps({"input": ["a"] * MOST, "encoding_format": form}).encode()))
        await reader.readuntil(b"\r\n\r\n")
        await until(lambda: client.app[MEMORY_BUDGET]._total == MOST * 1024 * 4)
    await until(lambda: not client.app[MEMORY_BUDGET]._total)


@APART
@pytest.mark.contract_only
@pytest.mark.parametrize(
    ("path", "body"), [(EMBED, {"input": ["a"] * 33}), (RERANK, {"query": "a", "documents": ["a"] * 33})]
)
async def test_without_the_extension_the_contracts_limit_holds(client: Client, path: str, body: dict[str, Any]) -> None:
    error = (await (await client.post(path, json=body)).json())["error"]
    assert error["message"].endswith(": 33, at most 32")


@APART
@pytest.mark.settings(extensions="large_batches, sparse_embeddings")
async def test_outputs_of_tokens_are_for_as_many_texts_as_the_contract_has(client: Client) -> None:
    response = await client.post(EMBED, json={"input": ["a"] * 33, "outputs": ["dense", "sparse"]})
    assert await refusal(response) == (400, "input")


@APART
@ON
async def test_of_the_batches_of_many_keys_those_are_begun_that_can_end_in_time(
    client: Client, settings: Settings, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes two fifths of the time: together all would be late."""
    going, batch = asyncio.Event(), {"input": ["word " * 100] * 256}
    triton.wait = going.wait
    unit = 0.4 * settings.request_seconds / (102 * 256)
    monkeypatch.setattr(ModelCalls, "seconds_for", lambda self, work, at_once: work * unit)
    monkeypatch.setattr(ModelCalls, "expected_wait", lambda *given: 0.0)
    keys = [bearer(await other_key(settings)) for _ in range(4)]
    asking = [asyncio.create_task(client.post(EMBED, json=batch, headers=key)) for key in keys]
    refused = [await each for each in islice(asyncio.as_completed(asking), 2)]
    assert [each.status for each in refused] == [502] * 2
    assert min(int(each.headers["Retry-After"]) for each in refused) > 0.2 * settings.request_seconds
    going.set()
    assert [(await each).status for each in asking].count(200) == 2


@APART
@pytest.mark.settings(extensions="large_batches", concurrency=4)
async def test_an_idle_model_tries_a_batch_and_gives_it_up_if_most_of_it_would_be_late(
    client: Client, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelCalls, "seconds_for", lambda self, work, at_once: work)
    assert (await client.post(EMBED, json={"input": ["word " * 100] * 256})).status == 502
    assert 0 < len(triton.calls) <= 8
