"""Requests to the upstream, its errors, and the cost of its answers."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from frontend.errors import ApiError, InvalidRequest
from frontend.extensions.chat.metering import StreamMeter, estimate, text_bytes, usage_of
from frontend.extensions.chat.protocol import refusal, with_usage


@pytest.mark.parametrize("name", ["stream_options", "stream\\u005foptions"])
@pytest.mark.parametrize("value", ["null", "{}", '{"include_usage": false, "other": 1}'])
def test_the_request_for_usage_replaces_other_options(name: str, value: str) -> None:
    body = f'{{"model": "m", "{name}": {value}}}'.encode()
    pairs = json.loads(with_usage(body), object_pairs_hook=list)
    assert [name for name, _ in pairs] == ["model", "stream_options"]
    assert dict(dict(pairs)["stream_options"])["include_usage"] is True


def test_a_body_without_the_options_gets_them_and_keeps_the_rest() -> None:
    assert json.loads(with_usage(b'{"model": "\\u00e9", "n": 1}')) == {
        "model": "é",
        "n": 1,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize("number", ["9" * 5_000, "1e400"])
def test_a_number_that_cannot_be_serialised_is_refused(number: str) -> None:
    with pytest.raises(InvalidRequest, match="too long or too large"):
        with_usage(f'{{"stream_options": null, "seed": {number}}}'.encode())


def _refusal(status: int, said: Any, retry_after: str | None = None) -> ApiError:
    return refusal(status, json.dumps(said).encode(), retry_after)


@pytest.mark.parametrize(
    "said",
    [
        {"error": {"message": "too many tokens", "param": "messages"}},
        {"error": "too many tokens", "param": "messages"},
        {"object": "error", "message": "too many tokens", "param": "messages", "code": 400},
        {"detail": "too many tokens", "param": "messages"},
        {"error": None, "detail": {"message": "too many tokens", "param": "messages"}},
    ],
)
def test_the_upstream_message_is_found_in_common_forms(said: dict[str, Any]) -> None:
    error = _refusal(400, said)
    assert (error.status, error.message, error.param, error.code) == (400, "too many tokens", "messages", None)


def test_the_first_of_several_messages_is_used() -> None:
    said = {"detail": [{"loc": ["body", "n"], "msg": "Input should be a valid integer"}, {"msg": "another"}]}
    assert _refusal(422, said).message == "Input should be a valid integer"


@pytest.mark.parametrize("said", ["no", [], {}, {"error": 7}, {"message": {"a": 1}}, {"detail": []}, {"detail": [7]}])
def test_an_error_without_a_message_gets_our_own(said: Any) -> None:
    assert _refusal(400, said).message == "the chat backend refused the request"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (None, "1"),
        ("7", "7"),
        (" 7 ", "7"),
        ("1.2", "2"),
        ("0", "1"),
        ("-5", "1"),
        ("3600", "60"),
        ("inf", "60"),
        ("nan", "1"),
        ("soon", "1"),
        ("", "1"),
        ("Wed, 21 Oct 2015 07:28:00 GMT", "1"),
        ("Wed, 21 Oct 2115 07:28:00 GMT", "60"),
        ("Wed, 99 Oct 2015 07:28:00 GMT", "1"),
        ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", "1"),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_1_to_60_whole_seconds(status: int, said: str | None, seconds: str) -> None:
    assert _refusal(status, {}, said).headers["Retry-After"] == seconds


def test_a_retry_date_becomes_seconds() -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 28 <= int(_refusal(429, {}, at).headers["Retry-After"]) <= 30


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (429, {"error": {"message": "You exceeded your quota", "type": "insufficient_quota"}}),
        (429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}),
        (429, {"message": "You exceeded your quota", "code": "insufficient_quota"}),
        (400, {"error": {"message": "Billing hard limit", "code": "billing_hard_limit_reached"}}),
        (400, {"error": {"message": "Wrong key sk-1", "code": "invalid_api_key"}}),
        (401, {"error": {"message": "Wrong key sk-1"}}),
    ],
)
def test_an_error_of_our_upstream_account_is_502(status: int, said: dict[str, Any]) -> None:
    error = _refusal(status, said)
    assert (error.status, error.type) == (502, "bad_gateway")
    assert error.message == "the chat backend refuses this service; its operator must see to it"
    assert error.headers == {"X-Should-Retry": "false"}


@pytest.mark.parametrize("status", [302, 408, 500, 503])
def test_a_failure_of_the_upstream_that_passes_is_502_with_a_wait(status: int) -> None:
    error = _refusal(status, {"error": {"message": "secret"}}, "3")
    assert (error.status, error.headers) == (502, {"Retry-After": "3"})
    assert error.message == "the chat backend is temporarily unreachable, retry with backoff"


USAGE = b'data: {"choices":[],"usage":{"total_tokens":42}}\n'
WORDS = b'data: {"choices":[{"delta":{"content":"a"}}]}\n'


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (b'{"usage":{"total_tokens":7}}', 7),
        (b'{"usage":{"total_tokens":0}}', 0),
        (b'{"response":{"usage":{"total_tokens":7}}}', 7),
        (b'{"usage":{"total_tokens":true}}', None),
        (b'{"usage":{"total_tokens":-1}}', None),
        (b'{"usage":{"total_tokens":2147483648}}', None),
        (b'{"usage":{"total_tokens":"30"}}', 30),
        (b'{"usage":{"total_tokens":30.0}}', 30),
        (b'{"usage":{"total_tokens":30.5}}', None),
        (b'{"usage":{"total_tokens":"3e1"}}', None),
        (b'{"usage":{"total_tokens":"-3"}}', None),
        (b'{"usage":{"total_tokens":"99999999999"}}', None),
        (b'{"usage":{"total_tokens":1e300}}', None),
        (b'{"usage":{"prompt_tokens":"10","completion_tokens":20.0}}', 30),
        (b'{"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":0}}', 30),
        (b'{"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":20}}', 30),
        (b'{"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":45}}', 45),
        (b'{"usage":{"prompt_tokens":10,"completion_tokens":null,"total_tokens":0}}', 10),
        (b'{"usage":{"input_tokens":10,"output_tokens":"20","total_tokens":"x"}}', 30),
        (b'{"usage":{"prompt_tokens":3,"completion_tokens":4}}', 7),
        (b'{"usage":{"input_tokens":3,"output_tokens":4}}', 7),
        (b'{"usage":{"prompt_tokens":3}}', None),
        (b'{"usage":7}', None),
        (b"[]", None),
        (b"no JSON", None),
    ],
)
def test_the_usage_of_an_answer_is_read(answer: bytes, tokens: int | None) -> None:
    usage = usage_of(answer)
    assert usage.tokens == tokens
    reports = answer.startswith(b"{") and json.loads(answer).get("usage")
    assert usage.is_unreadable is (tokens is None and bool(reports))


@pytest.mark.parametrize("reported", [None, {}, "", 0, []])
def test_usage_that_is_empty_is_none(reported: Any) -> None:
    assert usage_of(json.dumps({"usage": reported}).encode()) == (None, 0, False)


def test_the_text_of_an_answer_is_counted_and_nothing_else() -> None:
    message = {"role": "assistant", "content": "four", "reasoning_content": "ten letter"}
    call = {"function": {"name": "f", "arguments": "{}"}}
    answer = {"id": "x" * 100, "choices": [{"message": {**message, "tool_calls": [call]}, "finish_reason": "stop"}]}
    assert usage_of(json.dumps(answer).encode()) == (None, 4 + 10 + 2, False)


@pytest.mark.parametrize(
    ("request_", "size"),
    [
        ({"messages": [{"role": "user", "content": "four"}]}, 4),
        ({"messages": [{"content": [{"type": "text", "text": "é"}, {"image_url": {"url": "x" * 99}}]}]}, 2),
        ({"input": ["one", "two"], "instructions": "six"}, 9),
    ],
)
def test_the_text_of_a_request_is_counted(request_: dict[str, Any], size: int) -> None:
    assert text_bytes(request_) == size


def test_a_deep_answer_is_counted() -> None:
    deep: Any = {"content": "four"}
    for _ in range(5_000):
        deep = [deep]
    assert text_bytes(deep) == 4


def test_the_reported_usage_of_a_stream_is_read_in_any_pieces() -> None:
    meter = StreamMeter(1000, hides_usage=False)
    stream = WORDS + USAGE
    passed = b"".join(meter.feed(stream[place : place + 1]) for place in range(len(stream)))
    assert (passed + meter.rest(), meter.tokens) == (stream, 42)


def test_a_stream_with_zero_tokens_costs_none() -> None:
    meter = StreamMeter(1000, hides_usage=False)
    meter.feed(WORDS + USAGE.replace(b"42", b"0"))
    assert meter.tokens == 0


def test_the_usage_event_is_hidden_from_clients_that_did_not_ask() -> None:
    meter = StreamMeter(0, hides_usage=True)
    assert meter.feed(WORDS + USAGE + WORDS) == WORDS + WORDS
    assert meter.tokens == 42


@pytest.mark.parametrize(
    "last", [USAGE, USAGE[:-1], USAGE.replace(b'"choices":[],', b""), USAGE.replace(b'"choices":[]', b'"choices":null')]
)
def test_the_usage_event_is_hidden_at_the_end_and_without_choices(last: bytes) -> None:
    meter = StreamMeter(0, hides_usage=True)
    assert meter.feed(WORDS + last) + meter.rest() == WORDS
    assert meter.tokens == 42


@pytest.mark.parametrize(
    ("event", "size"),
    [
        (b'{"choices":[{"delta":{"content":"four"}}]}', 4),
        (b'{"choices":[{"delta":{"reasoning_content":"four"}}]}', 4),
        (b'{"choices":[{"text":"four"}]}', 4),
        (b'{"type":"response.output_text.delta","delta":"four"}', 4),
        (b'{"type":"response.output_text.done","text":"four"}', 0),
        (b'{"choices":[{"delta":{"role":"assistant"}}]}', 0),
        (b"[DONE]", 0),
    ],
)
def test_a_stream_without_usage_costs_by_its_text(event: bytes, size: int) -> None:
    meter = StreamMeter(100, hides_usage=False)
    meter.feed(b": ping\n\ndata: " + event + b"\n\n")
    assert meter.tokens == estimate(100 + size)


def test_a_long_line_is_passed_on() -> None:
    meter = StreamMeter(0, hides_usage=True)
    assert meter.feed(b"x" * (1024 * 1024 + 1))
    assert meter.rest() == b""


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_any_end_of_a_line_ends_an_event(end: bytes) -> None:
    meter, passed = StreamMeter(0, hides_usage=True), b""
    event = b'data: {"choices":[{"delta":{"content":"four"}}]}' + end * 2
    usage = b'data: {"choices":[],"usage":{"total_tokens":7}}' + end * 2
    stream = event + usage + b"data: [DONE]" + end * 2
    for place in range(len(stream)):
        passed += meter.feed(stream[place : place + 1])
    passed += meter.rest()
    assert meter.tokens == 7
    assert b"usage" not in passed
    assert passed.split() == (event + b"data: [DONE]").split()


def test_lines_are_passed_on_as_they_come_without_waiting_for_an_event() -> None:
    meter = StreamMeter(0, hides_usage=True)
    for ends in (b"\r" * 8192, b"\n" * 8192, b"\r\n" * 4096):
        assert meter.feed(ends) == ends


def test_a_stream_with_very_many_parts_is_read_in_part() -> None:
    meter = StreamMeter(0, hides_usage=False)
    event = b'data:{"choices":[' + b'{"text":"a"},' * 80_000 + b"{}]}\n"
    assert meter.feed(event) == event
    assert 1_000 < meter.usage.text_bytes < 8_000
