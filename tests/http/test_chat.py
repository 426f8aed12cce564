"""Forwarding to a small real upstream, with OpenAI's own client where a client matters."""

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from frontend.config import Settings
from tests.conftest import KEY, Client
from tests.upstream import KEY as UPSTREAM_KEY
from tests.upstream import Upstream

CHAT = "/v1/chat/completions"


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    running = Upstream()
    await running.server.start_server()
    yield running
    await running.server.close()


@pytest.fixture
def settings(settings: Settings, upstream: Upstream) -> Settings:
    return dataclasses.replace(settings, chat_upstream=upstream.address, chat_upstream_key=UPSTREAM_KEY)


@pytest.fixture
async def openai_client(client: Client) -> AsyncIterator[openai.AsyncOpenAI]:
    base = str(client.make_url("/v1"))
    async with openai.AsyncOpenAI(base_url=base, api_key=KEY, max_retries=0) as connected:
        yield connected


def _chat(said: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": said}], **more}


async def test_a_completion_comes_through(openai_client: openai.AsyncOpenAI) -> None:
    answer = await openai_client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
    assert answer.choices[0].message.content == "you said hi"


async def test_a_response_comes_through(openai_client: openai.AsyncOpenAI) -> None:
    assert (await openai_client.responses.create(model="m", input="hi")).output_text == "you said hi"


async def test_a_stream_comes_through_piece_by_piece(openai_client: openai.AsyncOpenAI) -> None:
    stream = await openai_client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "a b c d"}], stream=True
    )
    started, first, text = time.monotonic(), 0.0, ""
    async for chunk in stream:
        first = first or time.monotonic() - started
        text += chunk.choices[0].delta.content or ""
    assert text == "you said a b c d "
    assert first < time.monotonic() - started - 0.2


async def test_the_upstream_gets_its_own_key_and_our_request_id(client: Client, upstream: Upstream) -> None:
    await client.post(CHAT, json=_chat("hi"), headers={"X-Request-Id": "r-1"})
    _, headers, body = upstream.received[0]
    assert headers["Authorization"] == f"Bearer {UPSTREAM_KEY}"
    assert headers["X-Request-Id"] == "r-1"
    assert body == _chat("hi")
    assert KEY not in str(dict(headers))


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_answer_carries_request_id_and_limits(client: Client, streamed: bool) -> None:
    response = await client.post(CHAT, json=_chat("hi", stream=streamed), headers={"X-Request-Id": "r-1"})
    assert response.headers["X-Request-Id"] == "r-1"
    assert "X-RateLimit-Remaining" in response.headers


@pytest.mark.parametrize(
    ("said", "status", "kind"),
    [
        ("400", 400, "invalid_request_error"),
        ("422", 400, "invalid_request_error"),
        ("404", 404, "invalid_request_error"),
        ("413", 413, "request_too_large"),
        ("429", 429, "rate_limit_exceeded"),
        ("401", 502, "bad_gateway"),
        ("500", 502, "bad_gateway"),
        ("503", 502, "bad_gateway"),
    ],
)
async def test_a_refusal_becomes_one_of_the_contract(client: Client, said: str, status: int, kind: str) -> None:
    response = await client.post(CHAT, json=_chat(said))
    error = (await response.json())["error"]
    assert (response.status, error["type"]) == (status, kind)
    assert (error["message"] == f"refused with {said}") == (status < 500)


async def test_a_429_of_the_upstream_says_when_to_come_back(client: Client) -> None:
    assert (await client.post(CHAT, json=_chat("429"))).headers["Retry-After"] == "7"


async def test_a_refusal_that_is_no_json_is_not_passed_on(client: Client) -> None:
    response = await client.post(CHAT, json=_chat("nonsense"))
    assert (response.status, "<html>" in await response.text()) == (400, False)


async def test_an_upstream_that_is_away_is_502(client: Client, upstream: Upstream) -> None:
    await upstream.server.close()
    response = await client.post(CHAT, json=_chat("hi"))
    assert response.status == 502
    assert int(response.headers["Retry-After"]) >= 1


async def test_a_stream_that_breaks_off_is_no_whole_answer(openai_client: openai.AsyncOpenAI) -> None:
    stream = await openai_client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "a break b"}], stream=True
    )
    with pytest.raises(openai.APIConnectionError):
        async for _ in stream:
            pass


async def test_a_caller_who_hangs_up_ends_the_call_upstream(client: Client, upstream: Upstream) -> None:
    response = await client.post(CHAT, json=_chat("wait", stream=True))
    await response.content.readany()
    response.close()
    await asyncio.wait_for(upstream.cancelled.wait(), 5)


async def test_a_body_that_is_no_object_never_reaches_the_upstream(client: Client, upstream: Upstream) -> None:
    assert (await client.post(CHAT, data=b"[1]")).status == 400
    assert upstream.received == []


async def test_a_wrong_key_never_reaches_the_upstream(client: Client, upstream: Upstream) -> None:
    assert (await client.post(CHAT, json=_chat("hi"), headers={"Authorization": "Bearer x"})).status == 401
    assert upstream.received == []
