"""Inputs of embeddings as tokens of OpenAI's models, which clients send that cut texts themselves."""

import json
from typing import Any

import pytest

from tests.conftest import Client
from tests.http.calls import APART, EMBED, refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "token_arrays, large_batches, client_parameters"}
HELLO, APRIL = [9906, 11, 1917, 0], [1453, 5936, 6127, 2761, 3580, 597, 3223, 13]
TEXTS = ["Hello, world!", "Im April ist der See kalt."]


async def _post(client: Client, given: Any) -> Any:
    response = await client.post(EMBED, json={"input": given, "encoding_format": "base64"})
    assert response.status == 200, await response.text()
    return json.loads(await response.read())


async def test_tokens_are_embedded_as_their_texts(client: Client) -> None:
    assert await _post(client, [HELLO, APRIL]) == await _post(client, TEXTS)


async def test_one_array_is_one_text(client: Client) -> None:
    assert await _post(client, APRIL) == await _post(client, TEXTS[1])
    # More tokens than a request may have texts.
    assert len((await _post(client, HELLO * 1000))["data"]) == 1


async def test_a_long_body_is_read_in_a_process(client: Client) -> None:
    answer = await _post(client, [HELLO * 40] * 300)
    assert answer == await _post(client, [TEXTS[0] * 40] * 300)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([100_256], "input[0] must have tokens of cl100k_base, from 0 to 100255"),
        ([HELLO, [100_257]], "input[1] must have tokens of cl100k_base, from 0 to 100255"),
        ([-1], "input[0] must have tokens of cl100k_base, from 0 to 100255"),
        ([1, True], "input[0] must have tokens of cl100k_base, from 0 to 100255"),
        ([1, 2.5], "input[0] must have tokens of cl100k_base, from 0 to 100255"),
        ([2.5], "input[0] must have tokens of cl100k_base, from 0 to 100255"),
        ([1, "a"], "input[0] must have tokens of cl100k_base, from 0 to 100255"),
        ([1, [2]], "input[0] must have tokens of cl100k_base, from 0 to 100255"),
        ([[1], 2], "input[1] must be an array of tokens, as the others are"),
        ([[1], "a"], "input[1] must be an array of tokens, as the others are"),
        ([[1], []], "input[1] is empty"),
        ([[]], "input[0] is empty"),
        ([[[1]]], "input[0] must have tokens of cl100k_base, from 0 to 100255"),
        (["a", 1], "input[1] must be a string"),
        (["a", [1]], "input[1] must be a string"),
        ([], "input must not be an empty array"),
        ([[1]] * 2049, "too many inputs: 2049, at most 2048"),
        (5, "input must be a string or an array of strings"),
    ],
)
async def test_what_is_no_text_and_no_tokens_is_400_with_its_index(client: Client, given: Any, message: str) -> None:
    response = await client.post(EMBED, json={"input": given})
    error = (await response.json())["error"]
    assert (response.status, error["param"], error["message"]) == (400, "input", message)


async def test_a_token_of_thousands_of_digits_is_400(client: Client) -> None:
    response = await client.post(EMBED, data=b'{"input": [[1, %s]]}' % (b"9" * 5_000))
    assert await refusal(response) == (400, "input")


async def test_much_text_of_few_tokens_is_413(client: Client) -> None:
    response = await client.post(EMBED, json={"input": [[58040] * 2000] * 40})
    assert await refusal(response) == (413, "input")


@APART
@pytest.mark.settings(extensions="token_arrays")
async def test_arrays_are_as_many_as_texts_may_be(client: Client) -> None:
    assert await refusal(await client.post(EMBED, json={"input": [[1]] * 33})) == (400, "input")
