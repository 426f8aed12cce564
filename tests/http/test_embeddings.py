import base64
import codecs
from typing import Any

import numpy as np
import pytest

from tests.conftest import Client
from tests.fakes import FakeTriton
from tests.http.calls import EMBED as PATH
from tests.http.calls import contract_only, refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _post(client: Client, **body: Any) -> Any:
    return await (await client.post(PATH, json=body)).json()


async def test_one_string_gives_one_vector(client: Client) -> None:
    answer = await _post(client, input="hello")
    assert answer["object"] == "list"
    assert answer["model"] == "embed-m3"
    assert [len(row["embedding"]) for row in answer["data"]] == [1024]


async def test_vectors_come_in_input_order(client: Client) -> None:
    answer = await _post(client, input=["a b c", "a", "a b"])
    assert [row["index"] for row in answer["data"]] == [0, 1, 2]
    # The fake puts its one at the number of tokens: the words and two special ones.
    assert [int(np.argmax(row["embedding"])) for row in answer["data"]] == [5, 3, 4]


async def test_usage_counts_tokens(client: Client) -> None:
    answer = await _post(client, input=["a b c", "a"])
    assert answer["usage"] == {"prompt_tokens": 8, "total_tokens": 8}


async def test_base64_holds_the_floats(client: Client) -> None:
    plain = await _post(client, input="a b")
    packed = await _post(client, input="a b", encoding_format="base64")
    floats = np.frombuffer(base64.b64decode(packed["data"][0]["embedding"]), "<f4")
    assert floats.tolist() == plain["data"][0]["embedding"]


async def test_a_request_of_many_texts_becomes_calls_of_limited_work(client: Client, triton: FakeTriton) -> None:
    answer = await _post(client, input=["word " * 100] * 32)
    assert [inputs["lengths"].shape[1] for _, inputs in triton.calls] == [7, 7, 7, 7, 4]
    assert len(answer["data"]) == 32


async def test_a_text_of_more_work_than_a_call_may_have_goes_alone(client: Client, triton: FakeTriton) -> None:
    await _post(client, input=["word " * 6000, "word", "word " * 6000])
    assert sorted(inputs["lengths"].tolist() for _, inputs in triton.calls) == [[[3]], [[6002]], [[6002]]]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": ""}, "input"),
        ({"input": ["a", ""]}, "input"),
        contract_only({"input": [1, 2]}, "input"),
        contract_only({"input": [[1, 2]]}, "input"),
        ({"input": {"a": 1}}, "input"),
        contract_only({"input": ["a"] * 33}, "input"),
        ({"input": ["a"] * 2049}, "input"),
        ({"input": "a", "model": "other"}, "model"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
        ({"input": "a", "dimensions": 0}, "dimensions"),
        ({"input": "a", "dimensions": True}, "dimensions"),
        contract_only({"input": "a", "user": "me"}, "user"),
        ({"input": "\ud800"}, "input"),
    ],
)
async def test_a_bad_parameter_is_400_and_named(client: Client, body: dict[str, Any], param: str) -> None:
    assert await refusal(await client.post(PATH, json=body)) == (400, param)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"input": 5}', "input must be a string or an array of strings"),
        (b'{"input": ["a", ""]}', "input[1] is empty"),
        (b'{"input": "a", "dimensions": %s}' % (b"9" * 5_000), "dimensions must be a positive integer"),
    ],
    ids=["no text", "the second text", "an integer of thousands of digits"],
)
async def test_a_refusal_says_what_is_wrong_with_a_parameter(client: Client, body: bytes, message: str) -> None:
    assert (await (await client.post(PATH, data=body)).json())["error"]["message"] == message


@pytest.mark.parametrize("size", [10, 40_000])
async def test_a_byte_order_mark_before_the_body_is_ignored(client: Client, size: int) -> None:
    body = codecs.BOM_UTF8 + b'{"input": "%s"}' % (b"a" * size)
    assert (await client.post(PATH, data=body)).status == 200


async def test_empty_and_null_parameters_are_absent(client: Client) -> None:
    answer = await _post(client, input="a", model="", encoding_format=None, dimensions=None)
    assert len(answer["data"]) == 1
