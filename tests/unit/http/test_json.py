import math

import numpy as np
import pytest

from frontend.errors import InvalidRequest
from frontend.http import json as bodies
from frontend.http.json import parse_json
from frontend.http.rendering import json_response, refusal


def test_null_is_the_same_as_absent() -> None:
    assert parse_json(b'{"a": null, "b": 1}') == {"b": 1}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[1]",
        b'{"a": ',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": "\xff"}',
        b'{"a":' + b"[" * 40 + b"]" * 40 + b"}",
        b'{"a":' + b"[" * 100_000,
    ],
)
def test_bad_json_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parse_json(data)


@pytest.mark.parametrize("number", ["9" * 5_000, "-" + "9" * 5_000])
def test_an_integer_of_thousands_of_digits_is_read_as_infinite(number: str) -> None:
    body = parse_json(b'{"input": ["a"], "dimensions": %s, "n": 7}' % number.encode())
    assert (abs(body["dimensions"]), body["n"]) == (math.inf, 7)


def test_invalid_json_after_such_an_integer_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="is not valid JSON"):
        parse_json(b'{"dimensions": %s, "n": }' % (b"9" * 5_000))


def _nested(levels: int, opening: bytes, closing: bytes) -> bytes:
    """An object with so many levels, itself included."""
    return b'{"a":' + opening * (levels - 2) + b"[]" + closing * (levels - 2) + b"}"


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")], ids=["lists", "objects"])
def test_json_has_at_most_32_levels(opening: bytes, closing: bytes) -> None:
    assert parse_json(_nested(32, opening, closing)).keys() == {"a"}
    with pytest.raises(InvalidRequest, match="deeper than 32 levels"):
        parse_json(_nested(33, opening, closing))


def test_a_duplicate_key_is_named() -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_json(b'{"model": 1, "model": 2}')
    assert refused.value.param == "model"


def test_brackets_in_strings_are_not_counted_as_levels() -> None:
    assert parse_json(b'{"a": "' + b"[" * 100 + b'"}') == {"a": "[" * 100}


def test_our_own_error_is_no_error_of_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(bodies, "check_name", fail)
    with pytest.raises(KeyError):
        parse_json(b'{"a": 1}')


def test_an_array_of_float32_is_rendered_with_its_own_digits() -> None:
    assert json_response({"a": np.array([0.1], np.float32)}).body == b'{"a":[0.1]}'


def test_a_refusal_names_neither_the_framework_nor_its_version() -> None:
    assert refusal(InvalidRequest("no HTTP")).headers["Server"] == "quartet"
