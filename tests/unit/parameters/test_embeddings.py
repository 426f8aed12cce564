"""The schema of inputs takes the same arrays of tokens as the endpoint."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from frontend.catalogue.extensions import TOKEN_ARRAYS
from frontend.catalogue.models import Served
from frontend.errors import InvalidRequest
from frontend.parameters.embeddings import PARAMETERS

SERVED = Served.of("embed-m3", extensions=frozenset({TOKEN_ARRAYS}))
INPUTS = Draft202012Validator(PARAMETERS.schema(SERVED)["properties"]["input"])


@pytest.mark.parametrize("value", ["a", ["a"], [0], [0] * 33, [[0, 100_255], [1]]])
def test_texts_and_arrays_of_tokens_fit(value: Any) -> None:
    INPUTS.validate(value)
    assert PARAMETERS.read({"input": value}, SERVED)["input"]


@pytest.mark.parametrize("value", ["", [""], [], [-1], [100_256], [[]], [[-1]], [[100_256]]])
def test_other_inputs_do_not_fit(value: Any) -> None:
    assert not INPUTS.is_valid(value)
    with pytest.raises(InvalidRequest):
        PARAMETERS.read({"input": value}, SERVED)
