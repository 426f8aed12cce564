from collections.abc import Callable
from typing import Any

import pytest

from frontend.errors import InvalidRequest
from frontend.http import fields

Check = Callable[[dict[str, Any], str], Any]


def _choice(values: dict[str, Any], name: str) -> str:
    return fields.choice(values, name, ("mp3", "wav"), "mp3")


def _between(values: dict[str, Any], name: str) -> int | None:
    return fields.integer_between(values, name, 1, 5)


def _strings(values: dict[str, Any], name: str) -> list[str]:
    return fields.strings(values, name, 2, empty_allowed=False)


@pytest.mark.parametrize(
    ("check", "absent"),
    [(fields.text, None), (_choice, "mp3"), (fields.positive_integer, None), (_between, None), (fields.boolean, False)],
)
def test_null_and_an_empty_string_are_the_same_as_absent(check: Check, absent: object) -> None:
    assert [check(values, "a") for values in ({}, {"a": None}, {"a": ""})] == [absent] * 3


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (fields.text, "\u00fc\U0001f44d"),
        (_choice, "wav"),
        (fields.positive_integer, 10**30),
        (_between, 1),
        (_between, 5),
        (fields.boolean, True),
        (_strings, ["a", "b"]),
    ],
)
def test_a_valid_value_is_returned(check: Check, value: object) -> None:
    assert check({"a": value}, "a") == value


@pytest.mark.parametrize(
    ("check", "value", "words"),
    [
        (fields.text, 1, "a must be a string"),
        (fields.text, "\ud800", "a holds a lone surrogate"),
        (_choice, "ogg", "a must be one of mp3, wav"),
        (fields.positive_integer, 0, "a must be a positive integer"),
        (fields.positive_integer, True, "a must be a positive integer"),
        (fields.positive_integer, "5", "a must be a positive integer"),
        (_between, 6, "a must be an integer from 1 to 5"),
        (fields.boolean, 1, "a must be true or false"),
        (_strings, None, "missing parameter: a"),
        (_strings, "a", "a must be an array of strings"),
        (_strings, [], "a must not be an empty array"),
        (_strings, ["a", "b", "c"], "too many as: 3, at most 2"),
        (_strings, ["a", 1], r"a\[1\] must be a string"),
        (_strings, ["a", ""], r"a\[1\] is empty"),
        (_strings, ["a", "\ud800"], r"a\[1\] holds a lone surrogate"),
    ],
)
def test_an_invalid_value_is_refused_by_name(check: Check, value: object, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words) as refused:
        check({"a": value}, "a")
    assert refused.value.param == "a"


def test_an_empty_string_can_be_allowed() -> None:
    assert fields.strings({"a": ["", "b"]}, "a", 2, empty_allowed=True) == ["", "b"]


def test_an_unknown_model_has_the_code_of_openai() -> None:
    with pytest.raises(InvalidRequest, match="this endpoint has embed-m3") as refused:
        fields.model({"model": "m" * 1000}, {"embed-m3": "embed-m3"})
    assert (refused.value.code, len(refused.value.message) < 200) == ("model_not_found", True)


def test_the_first_unknown_name_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="unknown parameter: b"):
        fields.refuse_unknown(["a", "b", "c"], ("a",))


@pytest.mark.parametrize("name", ["n" * 256, "\u00fc" * 128])
def test_a_name_of_256_bytes_is_accepted(name: str) -> None:
    fields.check_name(name)


@pytest.mark.parametrize("name", ["\ud800", "n" * 257, "\u00fc" * 129])
def test_a_name_that_is_too_long_or_no_unicode_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="a parameter's name"):
        fields.check_name(name)
