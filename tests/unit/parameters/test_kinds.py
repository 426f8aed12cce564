"""Each kind of parameter gives a valid value, refuses others by name, and describes what it takes."""

from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from frontend.catalogue.models import Served
from frontend.errors import InvalidRequest, TooLarge
from frontend.parameters.forms import Decimal, Several, Switch
from frontend.parameters.kinds import Boolean, Choice, Choices, Integer, ModelName, Name, Number, Parameter, Text, Texts

SERVED = Served.of()
CHOICE = Choice("a", names=("mp3", "wav"), default="mp3")
CHOICES = Choices("a", names=("dense", "sparse"))
COUNT, BETWEEN = Integer("a"), Integer("a", most=5)
NUMBER, BOOLEAN = Number("a", least=0.5, most=2, default=1), Boolean("a", default=False)
TEXTS = Texts("a", most=2)
DECIMAL, SWITCH = Decimal("a", least=0, most=1, default=0), Switch("a")
SEVERAL = Several("a[]", names=("word", "segment"))


def _named(served: Served) -> Mapping[str, str]:
    return {"embed-m3": "embed-m3", "other": "embed-m3"}


MODEL = ModelName(named=_named)


@pytest.mark.parametrize(
    ("kind", "absent"),
    [
        (Text("a"), None),
        (CHOICE, "mp3"),
        (CHOICES, None),
        (COUNT, None),
        (BETWEEN, None),
        (NUMBER, 1),
        (BOOLEAN, False),
        (Boolean("a"), None),
        (DECIMAL, 0),
        (SWITCH, False),
    ],
)
def test_null_and_an_empty_string_are_the_same_as_absent(kind: Parameter, absent: object) -> None:
    assert [kind.read(values, SERVED) for values in ({}, {"a": None}, {"a": ""})] == [absent] * 3


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Text("a"), "\u00fc\U0001f44d"),
        (Text("a", longest=2), "\u00fc\U0001f44d"),
        (CHOICE, "wav"),
        (COUNT, 10**30),
        (BETWEEN, 1),
        (BETWEEN, 5),
        (NUMBER, 0.5),
        (NUMBER, 2),
        (BOOLEAN, True),
        (TEXTS, ["a", "b"]),
    ],
)
def test_a_valid_value_is_returned_and_fits_the_schema(kind: Parameter, value: object) -> None:
    assert kind.read({"a": value}, SERVED) == value
    Draft202012Validator(kind.schema(SERVED)).validate(value)


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (Text("a"), 1, "a must be a string"),
        (Text("a"), "\ud800", "a holds a lone surrogate"),
        (Text("a", longest=2), "abc", "a is longer than 2 characters"),
        (Text("a", required=True), "", "a must be a string that is not empty"),
        (CHOICE, "ogg", "a must be one of mp3, wav"),
        (CHOICE, 1, "a must be a string"),
        (CHOICES, "dense", "a must be an array of one or more of dense, sparse"),
        (CHOICES, [], "a must be an array of one or more of dense, sparse"),
        (CHOICES, {"dense": 1}, "a must be an array of one or more of dense, sparse"),
        (CHOICES, ["dense", "colbert"], "a may have dense, sparse, and nothing else"),
        (CHOICES, [["dense"]], "a may have dense, sparse, and nothing else"),
        (COUNT, 0, "a must be a positive integer"),
        (COUNT, True, "a must be a positive integer"),
        (COUNT, "5", "a must be a positive integer"),
        (BETWEEN, 6, "a must be an integer from 1 to 5"),
        (NUMBER, 2.1, "a must be a number from 0.5 to 2"),
        (NUMBER, "1", "a must be a number from 0.5 to 2"),
        (NUMBER, True, "a must be a number from 0.5 to 2"),
        (BOOLEAN, 1, "a must be true or false"),
        (TEXTS, None, "missing parameter: a"),
        (TEXTS, "a", "a must be an array of strings"),
        (TEXTS, [], "a must not be an empty array"),
        (TEXTS, ["a", "b", "c"], "too many as: 3, at most 2"),
        (TEXTS, ["a", 1], r"a\[1\] must be a string"),
        (TEXTS, ["a", ""], r"a\[1\] is empty"),
        (TEXTS, ["a", "\ud800"], r"a\[1\] holds a lone surrogate"),
        (Texts("a", most=2, or_one=True), 1, "a must be a string or an array of strings"),
        (DECIMAL, "1.1", "a must be a number from 0 to 1"),
        (DECIMAL, "1e-", "a must be a number from 0 to 1"),
        (SWITCH, "yes", "a must be true or false"),
        (Name("a", named=_named, listed="names are"), "x" * 100, f"unknown a: {'x' * 64}; names are embed-m3, other"),
    ],
)
def test_an_invalid_value_is_refused_by_name(kind: Parameter, value: object, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words) as refused:
        kind.read({"a": value}, SERVED)
    assert refused.value.param == "a"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Text("a", longest=2), "abc"),
        (Text("a", required=True), ""),
        (CHOICE, "ogg"),
        (COUNT, 0),
        (BETWEEN, 6),
        (NUMBER, 2.1),
        (BOOLEAN, 1),
        (TEXTS, ["a", ""]),
        (TEXTS, ["a", "b", "c"]),
        (Texts("a", most=2, or_one=True), 1),
    ],
)
def test_what_is_refused_does_not_fit_the_schema(kind: Parameter, value: object) -> None:
    assert not Draft202012Validator(kind.schema(SERVED)).is_valid(value)


def test_a_text_that_is_too_long_may_have_an_error_of_its_own() -> None:
    with pytest.raises(TooLarge):
        Text("a", longest=2, too_long=TooLarge).read({"a": "abc"}, SERVED)


def test_one_text_may_count_as_an_array() -> None:
    assert Texts("a", most=2, or_one=True).read({"a": "b"}, SERVED) == ["b"]


def test_an_empty_string_can_be_allowed() -> None:
    assert Texts("a", most=2, empty_allowed=True).read({"a": ["", "b"]}, SERVED) == ["", "b"]


def test_a_model_may_have_other_names_and_the_first_is_the_default() -> None:
    assert [MODEL.read(values, SERVED) for values in ({"model": "other"}, {}, {"model": ""})] == ["embed-m3"] * 3


def test_an_unknown_model_has_the_code_of_openai() -> None:
    with pytest.raises(InvalidRequest, match="this endpoint has embed-m3") as refused:
        MODEL.read({"model": "m" * 1000}, SERVED)
    assert (refused.value.code, len(refused.value.message) < 200) == ("model_not_found", True)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"a": ["word"], "a[]": ["word"]}, "given with and without brackets"),
        ({"a": ["word", "letter"]}, "must be word or segment"),
    ],
)
def test_several_values_are_checked(values: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words) as refused:
        SEVERAL.read(values, SERVED)
    assert refused.value.param == "a[]"


@pytest.mark.parametrize("name", ["a", "a[]"])
def test_several_values_may_be_given_in_either_spelling(name: str) -> None:
    assert SEVERAL.read({name: ["word", "", "word"]}, SERVED) == ["word", "word"]


def test_a_description_stands_in_the_schema() -> None:
    assert Text("a", "A text.").schema(SERVED) == {"type": "string", "description": "A text."}
    assert Text("a", lambda served: f"{len(served.models)} models.").schema(SERVED)["description"] == "6 models."


@pytest.mark.parametrize("value", [["dense", "sparse"], ["sparse", "dense"], ["sparse", "dense", "sparse"]])
def test_choices_have_one_order_and_no_repeats(value: list[str]) -> None:
    assert CHOICES.read({"a": value}, SERVED) == ("dense", "sparse")
    Draft202012Validator(CHOICES.schema(SERVED)).validate(value)
