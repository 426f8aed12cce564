import json
from typing import Any

import pytest

from frontend.operations.chat.metering import StreamMeter, estimate, text_bytes, tokens_of

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
        (b'{"usage":{"prompt_tokens":3,"completion_tokens":4}}', 7),
        (b'{"usage":{"input_tokens":3,"output_tokens":4}}', 7),
        (b'{"usage":{"prompt_tokens":3}}', None),
        (b'{"usage":7}', None),
        (b"[]", None),
        (b"no JSON", None),
    ],
)
def test_the_usage_of_an_answer_is_read(answer: bytes, tokens: int | None) -> None:
    assert tokens_of(answer)[0] == tokens


def test_the_text_of_an_answer_is_counted_and_nothing_else() -> None:
    message = {"role": "assistant", "content": "four", "reasoning_content": "ten letter"}
    call = {"function": {"name": "f", "arguments": "{}"}}
    answer = {"id": "x" * 100, "choices": [{"message": {**message, "tool_calls": [call]}, "finish_reason": "stop"}]}
    assert tokens_of(json.dumps(answer).encode()) == (None, 4 + 10 + 2)


@pytest.mark.parametrize(
    ("request_", "size"),
    [
        ({"messages": [{"role": "user", "content": "four"}]}, 4),
        ({"messages": [{"content": [{"type": "text", "text": "é"}, {"image_url": {"url": "x" * 99}}]}]}, 2),
        ({"input": ["one", "two"], "instructions": "six"}, 9),
    ],
)
def test_what_a_request_says_is_counted(request_: dict[str, Any], size: int) -> None:
    assert text_bytes(request_) == size


def test_a_deep_answer_is_counted() -> None:
    deep: Any = {"content": "four"}
    for _ in range(5_000):
        deep = [deep]
    assert text_bytes(deep) == 4


def test_a_stream_costs_what_it_tells_however_it_is_cut() -> None:
    meter = StreamMeter(1000, hides=False)
    stream = WORDS + USAGE
    passed = b"".join(meter.feed(stream[place : place + 1]) for place in range(len(stream)))
    assert (passed + meter.rest(), meter.tokens) == (stream, 42)


def test_a_stream_that_tells_of_no_tokens_costs_none() -> None:
    meter = StreamMeter(1000, hides=False)
    meter.feed(WORDS + USAGE.replace(b"42", b"0"))
    assert meter.tokens == 0


def test_the_event_of_the_usage_is_kept_back_from_who_did_not_ask() -> None:
    meter = StreamMeter(0, hides=True)
    assert meter.feed(WORDS + USAGE + WORDS) == WORDS + WORDS
    assert meter.tokens == 42


@pytest.mark.parametrize(
    "last", [USAGE, USAGE[:-1], USAGE.replace(b'"choices":[],', b""), USAGE.replace(b'"choices":[]', b'"choices":null')]
)
def test_the_event_of_the_usage_may_end_the_stream_and_have_no_choices(last: bytes) -> None:
    meter = StreamMeter(0, hides=True)
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
def test_a_stream_that_tells_nothing_costs_by_its_text(event: bytes, size: int) -> None:
    meter = StreamMeter(100, hides=False)
    meter.feed(b": ping\n\ndata: " + event + b"\n\n")
    assert meter.tokens == estimate(100 + size)


def test_what_is_too_long_for_an_event_goes_on() -> None:
    meter = StreamMeter(0, hides=True)
    assert meter.feed(b"x" * (1024 * 1024 + 1))
    assert meter.rest() == b""
