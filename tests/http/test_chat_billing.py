"""What a forwarded answer costs: the upstream's usage, or its length."""

import asyncio
import json

import aiohttp
import pytest

from frontend.config.settings import Settings
from frontend.usage.books import Books
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


async def test_an_answer_without_usage_is_charged_by_its_length(client: Client, settings: Settings) -> None:
    answer = await client.post(PATH, data=(asked := json.dumps(chat("silent")).encode()))
    size = len(asked) + len(await answer.read())
    (tokens,) = await _tokens(client, settings)
    assert tokens == -(-size // 4)


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
    assert 20 < tokens < 200


async def test_a_stream_that_the_upstream_breaks_off_is_free(client: Client, settings: Settings) -> None:
    response = await client.post(PATH, json=chat("a break b", stream=True))
    with pytest.raises(aiohttp.ClientError):
        await response.read()
    assert await _tokens(client, settings) == []


async def test_a_refusal_is_free(client: Client, settings: Settings) -> None:
    assert (await client.post(PATH, json=chat("400"))).status == 400
    assert await _tokens(client, settings) == []


async def test_a_wallet_reserves_what_may_be_made_and_pays_what_was(client: Client, books: Books) -> None:
    headers = {"Authorization": f"Bearer {ORG_KEY}"}
    await books.top_up("acme", 1_000, None)
    assert (await client.post(PATH, json=chat("hi"), headers=headers)).status == 429
    assert (await client.post(PATH, json=chat("hi", max_tokens=100), headers=headers)).status == 200
    assert (await client.post(PATH, json=chat("hi", max_tokens=2, n=400), headers=headers)).status == 200
    await client.close()
    assert await books.balance("acme") == 1_000 - 2 * 33
