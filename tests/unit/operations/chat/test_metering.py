import pytest

from frontend.operations.chat.metering import StreamMeter, estimate, tokens_of

USAGE = b'data: {"choices":[],"usage":{"total_tokens":42}}\n'
WORDS = b'data: {"choices":[{"delta":{"content":"a"}}]}\n'


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (b'{"usage":{"total_tokens":7}}', 7),
        (b'{"response":{"usage":{"total_tokens":7}}}', 7),
        (b'{"usage":{"total_tokens":true}}', None),
        (b'{"usage":{"total_tokens":-1}}', None),
        (b'{"usage":{"total_tokens":2147483648}}', None),
        (b'{"usage":7}', None),
        (b"[]", None),
        (b"no JSON", None),
    ],
)
def test_the_usage_of_an_answer_is_read(answer: bytes, tokens: int | None) -> None:
    assert tokens_of(answer) == tokens


def test_a_stream_costs_what_it_tells_however_it_is_cut() -> None:
    meter = StreamMeter(1000, hides=False)
    stream = WORDS + USAGE
    passed = b"".join(meter.feed(stream[place : place + 1]) for place in range(len(stream)))
    assert (passed + meter.rest(), meter.tokens) == (stream, 42)


def test_the_event_of_the_usage_is_kept_back_from_who_did_not_ask() -> None:
    meter = StreamMeter(0, hides=True)
    assert meter.feed(WORDS + USAGE + WORDS) == WORDS + WORDS
    assert meter.tokens == 42


def test_a_stream_that_tells_nothing_costs_by_its_length() -> None:
    meter = StreamMeter(10, hides=False)
    meter.feed(WORDS)
    assert meter.tokens == estimate(10 + len(WORDS))


def test_what_is_too_long_for_an_event_goes_on() -> None:
    meter = StreamMeter(0, hides=True)
    assert meter.feed(b"x" * (1024 * 1024 + 1))
    assert meter.rest() == b""
