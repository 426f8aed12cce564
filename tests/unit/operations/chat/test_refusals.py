"""What an upstream's refusals become."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from frontend.errors import ApiError
from frontend.operations.chat.protocol import refusal


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
def test_its_message_goes_on_wherever_it_stands(said: dict[str, Any]) -> None:
    error = _refusal(400, said)
    assert (error.status, error.message, error.param, error.code) == (400, "too many tokens", "messages", None)


def test_the_first_of_several_complaints_goes_on() -> None:
    said = {"detail": [{"loc": ["body", "n"], "msg": "Input should be a valid integer"}, {"msg": "another"}]}
    assert _refusal(422, said).message == "Input should be a valid integer"


@pytest.mark.parametrize("said", ["no", [], {}, {"error": 7}, {"message": {"a": 1}}, {"detail": []}, {"detail": [7]}])
def test_one_without_a_message_is_told_in_our_words(said: Any) -> None:
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
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_when_to_come_back_is_told_in_1_to_60_whole_seconds(status: int, said: str | None, seconds: str) -> None:
    assert _refusal(status, {}, said).headers["Retry-After"] == seconds


def test_a_date_to_come_back_at_is_told_in_seconds() -> None:
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
def test_a_fault_of_the_operators_account_is_a_502_that_does_not_name_it(status: int, said: dict[str, Any]) -> None:
    error = _refusal(status, said)
    assert (error.status, error.type) == (502, "bad_gateway")
    assert error.message == "the chat backend is temporarily unreachable, retry with backoff"
