"""What a forwarded answer costs: the upstream's usage, or its length."""

import asyncio
from typing import Any

import aiohttp
import pytest

from frontend.config.settings import Settings
from frontend.usage.queries import UsageQueries
from tests.charges import ORG_KEY, charges
from tests.conftest import Client, bearer
from tests.samples import Change
from tests.upstream import PATH, Upstream, chat


@pytest.fixture
def settings(settings: Settings, upstream: Upstream) -> Settings:
    return upstream.serves(settings)


async def _tokens(client: Client, settings: Settings) -> list[int]:
    """Those of each charge, at a micro-CHF each."""
    rows = await charges(client, settings)
    assert all((row["operation"], row["amount"]) == ("chat", row["quantity"]) for row in rows)
    return [row["quantity"] for row in rows]


async def test_an_answer_is_charged_by_the_usage_of_the_upstream(client: Client, settings: Settings) -> None:
    await client.post(PATH, json=chat("hi"))
    assert await _tokens(client, settings) == [33]


async def test_a_response_is_charged_by_its_usage(client: Client, settings: Settings) -> None:
    await client.post("/v1/responses", json={"model": "m", "input": "hi"})
    assert await _tokens(client, settings) == [7]


async def test_an_answer_without_usage_is_charged_by_its_text(client: Client, settings: Settings) -> None:
    await client.post(PATH, json=chat("silent"))
    assert await _tokens(client, settings) == [-(-len("silent" + "you said silent") // 4)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("usage", "tokens", "reason"),
    [
        ({"prompt_tokens": "11", "completion_tokens": "22", "total_tokens": "33"}, 33, ""),
        ({"prompt_tokens": 11.0, "completion_tokens": 22.0, "total_tokens": 0.0}, 33, ""),
        ({"total_tokens": "many"}, 4, "unreadable"),
        ([33], 4, "unreadable"),
        (None, 4, "absent"),
    ],
)
async def test_usage_in_another_type_is_read_and_what_cannot_be_read_is_told(
    client: Client,
    settings: Settings,
    upstream: Upstream,
    caplog: pytest.LogCaptureFixture,
    stream: bool,
    usage: Any,
    tokens: int,
    reason: str,
) -> None:
    upstream.usage = usage
    estimated = {name: Change("quartet_chat_estimates_total", reason=name) for name in ("absent", "unreadable")}
    await (await client.post(PATH, json=chat("hi", stream=stream))).read()
    (charged,) = await _tokens(client, settings)
    assert abs(charged - tokens) <= 1
    assert {name: change.by for name, change in estimated.items() if change.by} == ({reason: 1} if reason else {})
    assert ("cannot be read" in caplog.text) is (reason == "unreadable")


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
async def test_a_stream_costs_the_same_however_usage_is_requested_and_reported(
    client: Client, settings: Settings, asked: str, said: str
) -> None:
    text = await (await client.post(PATH, json=chat(said, stream=True, **_ASKS[asked]))).text()
    assert await _tokens(client, settings) == [33]
    assert ('"usage"' in text) is (asked == "yes")
    assert ('"total_tokens": 33' in text) is (asked == "yes" and said != "no total")


async def test_an_upstream_that_refuses_stream_options_is_called_without_them(
    client: Client, settings: Settings, upstream: Upstream
) -> None:
    answer = await client.post(PATH, json=chat("picky", stream=True))
    assert (answer.status, (await answer.text()).endswith("data: [DONE]\n\n")) == (200, True)
    assert len(upstream.received) == 2
    assert await _tokens(client, settings) == [-(-len("picky" + "you said picky ") // 4)]


async def test_a_refusal_of_the_clients_own_stream_options_is_passed_on(client: Client, upstream: Upstream) -> None:
    answer = await client.post(PATH, json=chat("picky", stream=True, stream_options={"include_usage": True}))
    assert (answer.status, len(upstream.received)) == (400, 1)


async def test_usage_that_the_client_did_not_request_is_left_out_of_its_stream(
    client: Client, settings: Settings, upstream: Upstream
) -> None:
    answer = await client.post(PATH, json=chat("hi", stream=True))
    text = await answer.text()
    assert (text.count("data: {"), '"usage"' in text, text.endswith("data: [DONE]\n\n")) == (3, False, True)
    assert upstream.received[0][2]["stream_options"] == {"include_usage": True}
    assert await _tokens(client, settings) == [33]


async def test_a_disconnect_during_a_stream_costs_what_was_sent(client: Client, settings: Settings) -> None:
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


async def _status(client: Client, said: str, **more: Any) -> int:
    """Of an answer to a key of an organisation."""
    return (await client.post(PATH, json=chat(said, **more), headers=bearer(ORG_KEY))).status


async def test_a_wallet_reserves_what_may_be_made_and_pays_what_was(client: Client, books: UsageQueries) -> None:
    await books.top_up("acme", 1_000, None)
    assert await _status(client, "hi") == 429
    assert await _status(client, "hi", max_tokens=100) == 200
    assert await _status(client, "hi", max_tokens=2, n=400) == 200
    await client.close()
    assert await books.balance("acme") == 1_000 - 2 * 33


async def test_a_wallet_pays_for_the_whole_of_an_answer_without_a_limit(client: Client, books: UsageQueries) -> None:
    await books.top_up("acme", 10_000, None)
    assert await _status(client, "dear") == 200
    await client.close()
    assert await books.balance("acme") == 10_000 - 9_000


@pytest.mark.parametrize("most", [2**31, 2**40, 10**300])
async def test_a_limit_beyond_all_answers_is_reserved(client: Client, books: UsageQueries, most: int) -> None:
    await books.top_up("acme", 10_000, None)
    assert await _status(client, "hi", max_tokens=most) == 429
