"""What a forwarded answer costs: the upstream's usage, or its length."""

import asyncio
from typing import Any

import aiohttp
import pytest

from frontend.config.settings import Settings
from frontend.usage.queries import UsageQueries
from tests.charges import ORG_KEY, charges
from tests.conftest import Client
from tests.upstream import PATH, Upstream, chat


@pytest.fixture
def settings(settings: Settings, upstream: Upstream) -> Settings:
    return upstream.serves(settings)


async def _tokens(client: Client, settings: Settings) -> list[int]:
    """Those of each charge, at a micro-CHF each."""
    rows = await charges(client, settings)
    assert all((row["operation"], row["amount"]) == ("chat", row["quantity"]) for row in rows)
    return [row["quantity"] for row in rows]


async def test_an_answer_is_charged_by_the_usage_that_the_upstream_tells(client: Client, settings: Settings) -> None:
    await client.post(PATH, json=chat("hi"))
    assert await _tokens(client, settings) == [33]


async def test_a_response_is_charged_by_its_usage(client: Client, settings: Settings) -> None:
    await client.post("/v1/responses", json={"model": "m", "input": "hi"})
    assert await _tokens(client, settings) == [7]


async def test_an_answer_without_usage_is_charged_by_its_text(client: Client, settings: Settings) -> None:
    await client.post(PATH, json=chat("silent"))
    assert await _tokens(client, settings) == [-(-len("silent" + "you said silent") // 4)]


_ASKS: dict[str, dict[str, Any]] = {
    "absent": {},
    "null": {"stream_options": None},
    "empty": {"stream_options": {}},
    "no": {"stream_options": {"include_usage": False}},
    "nothing said of it": {"stream_options": {"include_usage": None}},
    "something else": {"stream_options": {"other": 1}},
    "yes": {"stream_options": {"include_usage": True}},
}


@pytest.mark.parametrize("said", ["hi", "no total", "no choices", "no end"])
@pytest.mark.parametrize("asked", _ASKS)
async def test_a_stream_has_one_price_however_it_is_asked_for_and_told(
    client: Client, settings: Settings, asked: str, said: str
) -> None:
    text = await (await client.post(PATH, json=chat(said, stream=True, **_ASKS[asked]))).text()
    assert await _tokens(client, settings) == [33]
    assert ('"usage"' in text) is (asked == "yes")


async def test_an_upstream_that_does_not_know_the_wish_for_usage_is_asked_without_it(
    client: Client, settings: Settings, upstream: Upstream
) -> None:
    answer = await client.post(PATH, json=chat("picky", stream=True))
    assert (answer.status, (await answer.text()).endswith("data: [DONE]\n\n")) == (200, True)
    assert len(upstream.received) == 2
    assert await _tokens(client, settings) == [-(-len("picky" + "you said picky ") // 4)]


async def test_a_refusal_of_the_clients_own_wish_for_usage_is_its_answer(client: Client, upstream: Upstream) -> None:
    answer = await client.post(PATH, json=chat("picky", stream=True, stream_options={"include_usage": True}))
    assert (answer.status, len(upstream.received)) == (400, 1)


async def test_a_stream_is_charged_by_its_usage_which_its_client_did_not_ask_for(
    client: Client, settings: Settings, upstream: Upstream
) -> None:
    answer = await client.post(PATH, json=chat("hi", stream=True))
    text = await answer.text()
    assert (text.count("data: {"), '"usage"' in text, text.endswith("data: [DONE]\n\n")) == (3, False, True)
    assert upstream.received[0][2]["stream_options"] == {"include_usage": True}
    assert await _tokens(client, settings) == [33]


async def test_a_stream_tells_its_usage_to_a_client_who_asked_for_it(client: Client, settings: Settings) -> None:
    asked = chat("hi", stream=True, stream_options={"include_usage": True})
    text = await (await client.post(PATH, json=asked)).text()
    assert '"total_tokens": 33' in text
    assert await _tokens(client, settings) == [33]


async def test_a_caller_who_hangs_up_in_a_stream_pays_for_what_came(client: Client, settings: Settings) -> None:
    response = await client.post(PATH, json=chat("wait", stream=True))
    await response.content.readany()
    response.close()
    await asyncio.sleep(0.2)
    (tokens,) = await _tokens(client, settings)
    assert -(-len("wait" + "you ") // 4) <= tokens <= -(-len("wait" + "you said wait ") // 4)


async def test_a_repeat_of_an_answer_that_was_broken_off_costs_the_larger_price_once(
    client: Client, settings: Settings
) -> None:
    headers = {"X-Request-Id": "again"}
    response = await client.post(PATH, json=chat("a b c d e f", stream=True), headers=headers)
    await response.content.readany()
    response.close()
    await asyncio.sleep(0.2)
    for _ in range(2):
        await (await client.post(PATH, json=chat("a b c d e f", stream=True), headers=headers)).read()
    assert await _tokens(client, settings) == [33]


async def test_a_stream_that_the_upstream_breaks_off_is_free(client: Client, settings: Settings) -> None:
    response = await client.post(PATH, json=chat("a break b", stream=True))
    with pytest.raises(aiohttp.ClientError):
        await response.read()
    assert await _tokens(client, settings) == []


async def test_a_refusal_is_free(client: Client, settings: Settings) -> None:
    assert (await client.post(PATH, json=chat("400"))).status == 400
    assert await _tokens(client, settings) == []


async def test_a_wallet_reserves_what_may_be_made_and_pays_what_was(client: Client, books: UsageQueries) -> None:
    headers = {"Authorization": f"Bearer {ORG_KEY}"}
    await books.top_up("acme", 1_000, None)
    assert (await client.post(PATH, json=chat("hi"), headers=headers)).status == 429
    assert (await client.post(PATH, json=chat("hi", max_tokens=100), headers=headers)).status == 200
    assert (await client.post(PATH, json=chat("hi", max_tokens=2, n=400), headers=headers)).status == 200
    await client.close()
    assert await books.balance("acme") == 1_000 - 2 * 33


async def test_a_wallet_pays_for_the_whole_of_an_answer_without_a_limit(client: Client, books: UsageQueries) -> None:
    headers = {"Authorization": f"Bearer {ORG_KEY}"}
    await books.top_up("acme", 10_000, None)
    assert (await client.post(PATH, json=chat("dear"), headers=headers)).status == 200
    await client.close()
    assert await books.balance("acme") == 10_000 - 9_000


@pytest.mark.parametrize("most", [2**31, 2**40, 10**300])
async def test_a_limit_beyond_all_answers_is_reserved(client: Client, books: UsageQueries, most: int) -> None:
    headers = {"Authorization": f"Bearer {ORG_KEY}"}
    await books.top_up("acme", 10_000, None)
    assert (await client.post(PATH, json=chat("hi", max_tokens=most), headers=headers)).status == 429
