"""Forwarding to a small real upstream, with OpenAI's own client where a client matters."""

import asyncio
import codecs
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import aiohttp
import openai
import pytest

from frontend.config.settings import Settings
from tests.charges import charges, other_key
from tests.conftest import KEY, Client, bearer
from tests.eventually import until
from tests.raw import connection, post
from tests.upstream import KEY as UPSTREAM_KEY
from tests.upstream import PATH, Upstream, chat


@pytest.fixture
def settings(settings: Settings, upstream: Upstream) -> Settings:
    return upstream.serves(settings)


@pytest.fixture
async def openai_client(client: Client) -> AsyncIterator[openai.AsyncOpenAI]:
    base = str(client.make_url("/v1"))
    async with openai.AsyncOpenAI(base_url=base, api_key=KEY, max_retries=0) as connected:
        yield connected


async def test_a_completion_and_a_response_come_through(openai_client: openai.AsyncOpenAI) -> None:
    answer = await openai_client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
    assert answer.choices[0].message.content == "you said hi"
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
    await client.post(PATH, json=chat("hi"), headers={"X-Request-Id": "r-1"})
    _, headers, body = upstream.received[0]
    assert headers["Authorization"] == f"Bearer {UPSTREAM_KEY}"
    assert headers["X-Request-Id"] == "r-1"
    assert body == chat("hi")
    assert KEY not in str(dict(headers))


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_answer_carries_request_id_and_limits(client: Client, streamed: bool) -> None:
    response = await client.post(PATH, json=chat("hi", stream=streamed), headers={"X-Request-Id": "r-1"})
    assert response.headers["X-Request-Id"] == "r-1"
    assert "X-RateLimit-Remaining" in response.headers


@pytest.mark.parametrize(
    ("said", "status", "kind"),
    [
        *((said, 400, "invalid_request_error") for said in ("400", "422")),
        ("404", 404, "invalid_request_error"),
        ("413", 413, "request_too_large"),
        ("429", 429, "rate_limit_exceeded"),
        *((str(said), 502, "bad_gateway") for said in (401, 402, 403, 407, 408, 204, 307, 500, 503)),
    ],
)
async def test_a_refusal_becomes_one_of_the_contract(
    client: Client, upstream: Upstream, said: str, status: int, kind: str
) -> None:
    response = await client.post(PATH, json=chat(said))
    error = (await response.json())["error"]
    assert (response.status, error["type"]) == (status, kind)
    assert (error["message"] == f"refused with {said}") == (status < 500)
    # A redirection is not followed.
    assert [path for path, _, _ in upstream.received] == [PATH]


async def test_a_429_of_the_upstream_keeps_its_retry_after(client: Client) -> None:
    headers = (await client.post(PATH, json=chat("429"))).headers
    assert (headers["Retry-After"], headers["X-RateLimit-Reset"]) == ("7", "7")


async def test_a_refusal_that_is_no_json_is_not_passed_on(client: Client) -> None:
    response = await client.post(PATH, json=chat("nonsense"))
    assert (response.status, "<html>" in await response.text()) == (400, False)


@pytest.mark.parametrize(("said", "streamed"), [("whole", True), ("page", True), ("page", False)])
async def test_an_answer_in_another_format_than_requested_is_502_and_free(
    client: Client, settings: Settings, said: str, streamed: bool
) -> None:
    response = await client.post(PATH, json=chat(said, stream=streamed))
    error = (await response.json())["error"]
    assert (response.status, error["type"]) == (502, "bad_gateway")
    assert error["message"] == "the chat backend answered in another form than was asked for"
    assert await charges(client, settings) == []


@pytest.mark.parametrize("size", [0, 100_000])
async def test_a_refusal_in_pieces_is_read_to_its_end(client: Client, size: int) -> None:
    error = (await (await client.post(PATH, json=chat(f"pieces {size}"))).json())["error"]
    assert (error["message"], error["param"]) == ("refused with pieces", "messages")


async def test_a_refusal_that_is_too_long_gets_our_message(client: Client) -> None:
    error = (await (await client.post(PATH, json=chat("pieces 300000"))).json())["error"]
    assert error["message"] == "the chat backend refused the request"


async def test_an_upstream_that_is_away_is_502(client: Client, upstream: Upstream) -> None:
    await upstream.server.close()
    response = await client.post(PATH, json=chat("hi"))
    assert response.status == 502
    assert int(response.headers["Retry-After"]) >= 1


async def test_a_disconnect_ends_the_call_upstream(client: Client, upstream: Upstream) -> None:
    response = await client.post(PATH, json=chat("wait", stream=True))
    await response.content.readany()
    response.close()
    await asyncio.wait_for(upstream.cancelled.wait(), 5)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_byte_order_mark_does_not_reach_the_upstream(
    client: Client, upstream: Upstream, streamed: bool
) -> None:
    body = codecs.BOM_UTF8 + json.dumps(chat("hi", stream=streamed)).encode()
    assert (await client.post(PATH, data=body)).status == 200
    assert upstream.received[0][2]["messages"] == chat("hi")["messages"]


async def test_a_body_that_is_no_object_never_reaches_the_upstream(client: Client, upstream: Upstream) -> None:
    assert (await client.post(PATH, data=b"[1]")).status == 400
    assert upstream.received == []


async def test_a_cookie_of_the_upstream_goes_to_nobody(client: Client, upstream: Upstream) -> None:
    for said in ("mine", "yours"):
        answer = await client.post(PATH, json=chat(said))
        assert "Set-Cookie" not in answer.headers
    assert ["Cookie" in headers for _, headers, _ in upstream.received] == [False, False]


async def test_streams_that_nobody_reads_give_their_slots_back(client: Client, upstream: Upstream) -> None:
    asked = post(PATH, json.dumps(chat("endless", stream=True)).encode())
    async with AsyncExitStack() as unread:
        for _ in range(2):
            _, writer = await unread.enter_async_context(connection(client.server.port))
            writer.write(asked)
        await until(lambda: len(upstream.received) == 2)
        await asyncio.wait_for(upstream.cancelled.wait(), 10)
        async with asyncio.timeout(10):
            assert (await client.post(PATH, json=chat("hi"))).status == 200


async def test_one_key_leaves_half_of_the_slots_to_others(client: Client, settings: Settings) -> None:
    key = await other_key(settings)
    waiting = [await client.post(PATH, json=chat("wait", stream=True)) for _ in range(2)]
    third = asyncio.create_task(client.post(PATH, json=chat("hi")))
    await asyncio.sleep(0.2)
    other = await client.post(PATH, json=chat("hi"), headers=bearer(key))
    assert (other.status, third.done()) == (200, False)
    for response in waiting:
        response.close()
    assert (await third).status == 200


async def test_a_stream_that_never_ends_is_broken_off(client: Client, upstream: Upstream) -> None:
    response = await client.post(PATH, json=chat("endless", stream=True))
    with pytest.raises(aiohttp.ClientError):
        await response.read()
    assert response.content.total_bytes < 20_000_000
    assert upstream.cancelled.is_set() or await asyncio.wait_for(upstream.cancelled.wait(), 5)


@pytest.mark.settings(request_seconds=1.0)
async def test_a_stream_is_broken_off_at_the_deadline(client: Client) -> None:
    response = await client.post(PATH, json=chat("wait", stream=True))
    with pytest.raises(aiohttp.ClientError):
        await asyncio.wait_for(response.read(), 5)


@pytest.mark.parametrize("unit", ["\n", "\r", "data:\n", "data:{}\r\n"])
async def test_a_stream_of_line_ends_lets_others_have_their_turn(client: Client, upstream: Upstream, unit: str) -> None:
    upstream.repeats = unit.encode() * 300_000
    turns = 0
    async with client.post(PATH, json=chat("repeats", stream=True)) as response:
        reading = asyncio.create_task(response.read())
        while not reading.done():
            await asyncio.sleep(0)
            turns += 1
    assert len(reading.result()) >= len(upstream.repeats)
    assert turns > len(upstream.repeats) / 16_384
