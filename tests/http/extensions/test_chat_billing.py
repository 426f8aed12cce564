"""What a forwarded answer costs: the upstream's usage, or its length."""

import asyncio
import contextlib
import json
from typing import Any

import aiohttp
import pytest

from frontend.app_keys import MEMORY_BUDGET
from frontend.billing.wallets import Wallets
from frontend.config.settings import Settings
from tests.charges import ORG_KEY, Books, charges
from tests.conftest import KEY, Client, bearer
from tests.raw import connection, post
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


@pytest.mark.parametrize("stream", [1, "true"])
async def test_a_stream_that_the_upstream_takes_for_asked_is_charged_by_its_usage(
    client: Client, settings: Settings, stream: object
) -> None:
    async with client.post(PATH, json=chat("hi", stream=stream)) as answer:
        assert answer.content_type == "text/event-stream"
        assert b"prompt_tokens" not in await answer.read()
    assert await _tokens(client, settings) == [33]


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


async def until_balance(books: Books, balance: int) -> None:
    """Wait until the charges are in the ledger."""
    async with asyncio.timeout(5):
        # Somebody else writes them: there is nothing to be told by.
        while await books.balance("acme") != balance:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_an_answer_that_does_not_end_costs_what_was_sent(client: Client, settings: Settings) -> None:
    response = await client.post(PATH, json=chat("endless", stream=True))
    with pytest.raises(aiohttp.ClientError):
        await response.read()
    (tokens,) = await _tokens(client, settings)
    assert tokens >= len("endless" + "you said endless ") // 4


@pytest.mark.settings(request_seconds=2.0)
@pytest.mark.parametrize(("said", "charges_it"), [("endless", True), ("wait", False)], ids=["reader", "upstream"])
async def test_a_stream_at_its_deadline_is_paid_by_a_reader_who_was_waited_for(
    client: Client, settings: Settings, said: str, charges_it: bool
) -> None:
    async with connection(client.port) as (reader, writer):
        writer.write(post(PATH, json.dumps(chat(said, stream=True)).encode()))
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            async with asyncio.timeout(10):
                # Too slow for all of it, and never so slow that the connection makes no progress.
                while True:
                    await reader.readexactly(100 if said == "wait" else 400_000)
                    await asyncio.sleep(0.1)
    assert len(await _tokens(client, settings)) == charges_it


async def test_a_refusal_is_free(client: Client, settings: Settings) -> None:
    assert (await client.post(PATH, json=chat("400"))).status == 400
    assert await _tokens(client, settings) == []


async def _status(client: Client, said: str, **more: Any) -> int:
    """Of an answer to a key of an organisation."""
    return (await client.post(PATH, json=chat(said, **more), headers=bearer(ORG_KEY))).status


async def test_a_wallet_reserves_what_may_be_made_and_pays_what_was(client: Client, books: Books) -> None:
    await books.top_up("acme", 1_000)
    assert await _status(client, "hi") == 429
    assert await _status(client, "hi", max_tokens=100) == 200
    assert await _status(client, "hi", max_tokens=2, n=400) == 200
    await client.close()
    assert await books.balance("acme") == 1_000 - 2 * 33


_SPENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "the other name of the maximum": (PATH, {"max_output_tokens": 1}),
    "the other name on responses": ("/v1/responses", {"max_tokens": 1}),
    "both other names on responses": ("/v1/responses", {"max_tokens": 1, "max_completion_tokens": 1}),
    "two names": (PATH, {"max_tokens": 1, "max_completion_tokens": 5_000}),
    "several answers without a maximum": (PATH, {"n": 2}),
    "more answers than anyone gives": (PATH, {"n": 5_001, "max_tokens": 1}),
    "no maximum": (PATH, {}),
    "no maximum on responses": ("/v1/responses", {"max_output_tokens": None}),
}


@pytest.mark.parametrize("case", _SPENDS)
async def test_a_wallet_reserves_what_the_upstream_may_make_on_that_path(
    client: Client, books: Books, upstream: Upstream, case: str
) -> None:
    await books.top_up("acme", 4_000)
    path, more = _SPENDS[case]
    body = chat("hi", **more) if path == PATH else {"model": "m", "input": "hi", **more}
    answer = await client.post(path, json=body, headers=bearer(ORG_KEY))
    assert (answer.status, (await answer.json())["error"]["type"]) == (429, "insufficient_quota")
    assert upstream.received == []


@pytest.mark.parametrize(("path", "name"), [(PATH, "max_tokens"), ("/v1/responses", "max_output_tokens")])
@pytest.mark.parametrize("stream", [False, True])
async def test_the_answer_to_a_prepaid_request_without_a_maximum_has_the_usual_one(
    client: Client, books: Books, upstream: Upstream, path: str, name: str, stream: bool
) -> None:
    await books.top_up("acme", 10_000)
    body = chat("hi") if path == PATH else {"model": "m", "input": "hi"}
    for key, more in ((ORG_KEY, {}), (ORG_KEY, {name: 7}), (KEY, {})):
        sent = {**body, **more, "stream": stream and path == PATH}
        assert (await client.post(path, json=sent, headers=bearer(key))).status == 200
    assert [sent.get(name) for _, _, sent in upstream.received] == [4096, 7, None]


_PART = {"type": "text", "text": "hi"}
_UNBOUNDED: dict[str, tuple[str, dict[str, Any]]] = {
    "stored answer": ("/v1/responses", {"previous_response_id": "resp_1"}),
    "conversation": ("/v1/responses", {"conversation": {"id": "c"}}),
    "stored prompt": ("/v1/responses", {"prompt": {"id": "p"}}),
    "item": ("/v1/responses", {"input": [{"type": "item_reference", "id": "m"}]}),
    "item of no type": ("/v1/responses", {"input": [{"id": "msg_1"}]}),
    "item of type null": ("/v1/responses", {"input": [{"id": "msg_1", "type": None}]}),
    "stored reasoning": ("/v1/responses", {"input": [{"type": "reasoning", "id": "rs_1", "summary": []}]}),
    "picture in an item": (
        "/v1/responses",
        {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]},
    ),
    "picture": (
        PATH,
        {"messages": [{"role": "user", "content": [_PART, {"type": "image_url", "image_url": {"url": "u"}}]}]},
    ),
    "picture without a type": (PATH, {"messages": [{"role": "user", "content": [{"image_url": "https://a"}]}]}),
    "picture of type text": (
        PATH,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "", "image_url": {"url": "u"}}]}]},
    ),
    "sound": (
        PATH,
        {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x"}}]}]},
    ),
    "sound of before": (PATH, {"messages": [{"role": "assistant", "audio": {"id": "a"}}]}),
    "something of no type": (PATH, {"messages": [{"role": "user", "content": [{"type": ["text"], "text": "hi"}]}]}),
    "file": (PATH, {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]}),
}
_REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "search": ("/v1/responses", {"tools": [{"type": "web_search"}]}, "tools"),
    "background": ("/v1/responses", {"background": True}, "background"),
    "another server's name of the maximum": (PATH, {"n_predict": 9_999, "max_tokens": 1}, "n_predict"),
    "search options": (PATH, {"web_search_options": {"a": 1}}, "web_search_options"),
    "maximum as text": (PATH, {"max_tokens": "9999"}, "max_tokens"),
    "maximum as a float": (PATH, {"max_tokens": 9999.0}, "max_tokens"),
    "no end": (PATH, {"max_tokens": -1}, "max_tokens"),
    "answers as text": (PATH, {"max_tokens": 1, "n": "128"}, "n"),
    "another template": (PATH, {"chat_template_kwargs": {"chat_template": "{{ 'a' * 9999 }}"}}, "chat_template_kwargs"),
    "filling up": (PATH, {"chat_template_kwargs": {"padding": "max_length"}}, "chat_template_kwargs"),
    "stream as text": (PATH, {"stream": "true"}, "stream"),
    "stream as a number": (PATH, {"stream": 1}, "stream"),
    "sound": (PATH, {"modalities": ["text", "audio"]}, "modalities"),
    "answers as true": (PATH, {"max_tokens": 1, "n": True}, "n"),
}


def _body(path: str, more: dict[str, Any]) -> dict[str, Any]:
    return {**(chat("hi") if path == PATH else {"model": "m", "input": "hi"}), **more}


@pytest.mark.parametrize("case", _UNBOUNDED)
async def test_what_is_not_in_a_request_is_refused_for_prepaid_organisations_alone(
    client: Client, books: Books, upstream: Upstream, case: str
) -> None:
    await books.top_up("acme", 100_000)
    path, more = _UNBOUNDED[case]
    answer = await client.post(path, json=_body(path, more), headers=bearer(ORG_KEY))
    assert (answer.status, "text alone" in (await answer.json())["error"]["message"]) == (400, True)
    assert upstream.received == []
    # Any other organisation may ask the upstream, which is a simple one.
    await client.post(path, json=_body(path, more))
    assert len(upstream.received) == 1


@pytest.mark.parametrize("case", _REFUSED)
async def test_what_nobody_can_bound_is_refused_with_its_name(
    client: Client, books: Books, upstream: Upstream, case: str
) -> None:
    await books.top_up("acme", 100_000)
    path, more, name = _REFUSED[case]
    answer = await client.post(path, json=_body(path, more), headers=bearer(ORG_KEY))
    assert (answer.status, (await answer.json())["error"]["param"]) == (400, name)
    assert upstream.received == []
    assert (await client.post(path, json=_body(path, more))).status == 200


@pytest.mark.settings(chat_reference_tokens=5_000)
@pytest.mark.parametrize(("pictures", "status"), [(1, 200), (2, 429)])
async def test_a_setting_bounds_what_a_picture_costs(client: Client, books: Books, pictures: int, status: int) -> None:
    await books.top_up("acme", 10_000)
    picture = {"type": "image_url", "image_url": {"url": "https://a/b.png"}}
    messages = [{"role": "user", "content": [_PART, *[picture] * pictures]}, {"role": "user", "content": "hi"}]
    assert await _status(client, "hi", messages=messages, max_tokens=100) == status


_PICTURE = {"type": "image_url", "image_url": {"url": "https://a/b.png", "detail": "low"}}
_SEVERAL: dict[str, dict[str, Any]] = {
    "in a message with an unknown field": {"extra": 1, "content": [_PICTURE, _PICTURE]},
    "in a list of an unknown field": {"content": "hi", "images": ["https://a/1.png", "https://a/2.png"]},
    "in a part of an unknown type": {"content": [{"type": "video", "video": {"frames": [["a", "b"]]}}]},
}


@pytest.mark.settings(chat_reference_tokens=5_000)
@pytest.mark.parametrize("case", _SEVERAL)
async def test_each_of_several_pictures_is_reserved_for_wherever_they_stand(
    client: Client, books: Books, case: str
) -> None:
    await books.top_up("acme", 10_000)
    messages = [{"role": "user", **_SEVERAL[case]}, {"role": "user", "content": "hi"}]
    assert await _status(client, "hi", messages=messages, max_tokens=100) == 429


async def test_a_usual_request_of_a_prepaid_organisation_passes(client: Client, books: Books) -> None:
    await books.top_up("acme", 100_000)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": [_PART]},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "x"},
        # As servers answered, with fields that clients send back.
        {"role": "assistant", "content": "x", "audio": None, "refusal": None, "annotations": [], "tool_calls": []},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "g", "input": "x"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        {"role": "user", "content": "hi", "name": "anna"},
    ]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    tools += [{"type": "custom", "custom": {"name": "g"}}]
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    sampling = {"temperature": 0.1, "top_p": 1, "seed": 1, "stop": ["x"], "logit_bias": {"1": 2}, "user": "u"}
    absent = {"background": False, "previous_response_id": None, "conversation": ""}
    thinks = {"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "low"}, "modalities": ["text"]}
    more = {"messages": messages, "tools": tools, "response_format": schema, **sampling, **absent, **thinks}
    assert await _status(client, "hi", **more) == 200


async def test_an_answer_that_costs_more_than_was_reserved_ends_the_balance(client: Client, books: Books) -> None:
    await books.top_up("acme", 5_000)
    assert await _status(client, "dear", max_tokens=1) == 200
    await until_balance(books, 0)
    assert await _status(client, "dear", max_tokens=1) == 429


async def test_a_wallet_pays_for_the_whole_of_an_answer_without_a_limit(client: Client, books: Books) -> None:
    await books.top_up("acme", 10_000)
    assert await _status(client, "dear") == 200
    await client.close()
    assert await books.balance("acme") == 10_000 - 9_000


@pytest.mark.parametrize("most", [2**31, 2**40, 10**300])
async def test_a_limit_beyond_all_answers_is_reserved(client: Client, books: Books, most: int) -> None:
    await books.top_up("acme", 10_000)
    assert await _status(client, "hi", max_tokens=most) == 429


async def test_a_body_waits_for_its_wallet_outside_of_the_memory(
    client: Client, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    await books.top_up("acme", 10_000_000)
    asked, answers = asyncio.Event(), asyncio.Event()

    async def ready(self: Wallets, org: str) -> None:
        asked.set()
        await answers.wait()

    monkeypatch.setattr(Wallets, "ready", ready)
    sending = asyncio.create_task(_status(client, "a " * 450_000, max_tokens=1))
    await asyncio.wait_for(asked.wait(), 5)
    await asyncio.sleep(0.2)
    assert client.app[MEMORY_BUDGET]._total == 0
    # Others of a known key do not wait, nor do bodies that are none.
    assert (await client.post(PATH, json=chat("hi"))).status == 200
    assert (await client.get("/v1/models", headers=bearer(ORG_KEY))).status == 200
    answers.set()
    assert await sending == 200


async def test_a_body_that_was_read_holds_no_more_than_its_bytes(
    client: Client, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    await books.top_up("acme", 10_000_000)
    reserve, held = Wallets.reserve, []

    async def note(self: Wallets, *arguments: Any) -> str:
        held.append(client.app[MEMORY_BUDGET]._total)
        return await reserve(self, *arguments)

    monkeypatch.setattr(Wallets, "reserve", note)
    assert await _status(client, "a " * 450_000, max_tokens=1) == 200
    assert held == [pytest.approx(900_000, rel=0.01)]
