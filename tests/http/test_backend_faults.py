"""What a backend can do wrong, for all four operations in both dialects."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from frontend.errors import BadGateway
from frontend.tritons.triton import Arrays
from tests.conftest import Client
from tests.fakes import FakeTriton
from tests.speech import encode, say, transcribe

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAV = encode(say("Good morning everybody, this is a test."), "wav")
OPERATIONS = ["embeddings", "rerank", "speech", "transcriptions", "transcribe", "synthesize"]


async def _call(client: Client, mobile: dict[str, str], operation: str) -> Any:
    if operation == "transcriptions":
        fields = {"response_format": "verbose_json", "timestamp_granularities[]": "word"}
        return await transcribe(client, WAV, **fields)
    if operation == "transcribe":
        return await client.post("/api/v1/audio/transcribe", data={"audio": io.BytesIO(WAV)}, headers=mobile)
    if operation == "synthesize":
        body: dict[str, Any] = {"text": "Hello.", "voice": "ryan"}
        return await client.post("/api/v1/audio/synthesize", json=body, headers=mobile)
    bodies: dict[str, dict[str, Any]] = {
        "embeddings": {"input": ["a", "b"]},
        "rerank": {"query": "q", "documents": ["a", "b"]},
        "speech": {"input": "Hello.", "voice": "ryan"},
    }
    path = "/v1/audio/speech" if operation == "speech" else f"/v1/{operation}"
    return await client.post(path, json=bodies[operation])


async def _is_bad_gateway(response: Any) -> None:
    assert response.status == 502
    assert 1 <= int(response.headers["X-RateLimit-Reset"]) <= int(response.headers["Retry-After"])
    assert (await response.json())["error"]["type"] == "bad_gateway"


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_backend_that_is_away_is_502(
    client: Client, triton: FakeTriton, mobile: dict[str, str], operation: str
) -> None:
    triton.failure = BadGateway("away")
    await _is_bad_gateway(await _call(client, mobile, operation))


def _with(change: Callable[[Any], Any]) -> Callable[[Arrays], Arrays]:
    """Change the first output."""
    return lambda arrays: {name: change(array) if at == 0 else array for at, (name, array) in enumerate(arrays.items())}


def _not_a_number(array: Any) -> Any:
    return np.full_like(array, np.nan) if array.dtype.kind == "f" else None


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "change", [_not_a_number, lambda array: None, lambda array: array[:, :0]], ids=["nan", "missing", "empty"]
)
async def test_a_tensor_that_cannot_be_right_is_502(
    client: Client, triton: FakeTriton, mobile: dict[str, str], operation: str, change: Callable[[Any], Any]
) -> None:
    triton.spoil = _with(change)
    await _is_bad_gateway(await _call(client, mobile, operation))


async def test_a_vector_of_another_width_is_502(client: Client, triton: FakeTriton, mobile: dict[str, str]) -> None:
    triton.spoil = _with(lambda array: array[:, :, :384])
    await _is_bad_gateway(await _call(client, mobile, "embeddings"))
