"""Every refusal has the contract's shape, on every path."""

import io
from typing import Any

import pytest
from aiohttp import FormData

from frontend.app_keys import PATHS, RINGS
from tests.conftest import Client, bearer
from tests.fakes import FakeTriton
from tests.http.calls import EMBED, status_of
from tests.own_models import ADDED_NAMES
from tests.raw import ask, head

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _error(response: Any) -> dict[str, Any]:
    body: dict[str, Any] = await response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "param", "code"}
    error: dict[str, Any] = body["error"]
    return error


async def test_an_unknown_path_is_404(client: Client) -> None:
    response = await client.get("/v1/nothing")
    assert response.status == 404
    error = await _error(response)
    assert (error["type"], error["message"]) == ("invalid_request_error", "there is no such path")


async def test_a_wrong_method_is_405_and_says_which_is_right(client: Client) -> None:
    response = await client.get(EMBED)
    assert response.status == 405
    assert "POST" in response.headers["Allow"]
    assert (await _error(response))["message"] == "this path does not take this method"


@pytest.mark.parametrize("path", [EMBED, "/v1/rerank", "/v1/audio/speech", "/v1/audio/transcriptions", "/v1/models"])
async def test_a_wrong_key_is_401(client: Client, path: str) -> None:
    method = "GET" if path == "/v1/models" else "POST"
    response = await client.request(method, path, headers=bearer("wrong"))
    assert response.status == 401
    error = await _error(response)
    assert (error["type"], error["message"]) == ("invalid_api_key", "the API key is missing, invalid or revoked")


async def test_no_spelling_of_a_path_avoids_its_key(client: Client) -> None:
    spelled = {"/%761/models": 401, "http://h/v1/models": 401, "//v1/models": 404, "/v1%2Fmodels": 404}
    assert {path: (await ask(client.server.port, head("GET", path, key="wrong"))).status for path in spelled} == spelled


async def test_health_needs_no_key(client: Client) -> None:
    response = await client.get("/health/live", headers={"Authorization": ""})
    assert response.status == 200


async def test_a_path_is_checked_before_the_key(client: Client) -> None:
    assert await status_of(client, "/v1/nothing", "wrong") == 404


_PATHS = [
    ("POST", EMBED),
    ("POST", "/v1/rerank"),
    ("POST", "/v1/audio/speech"),
    ("POST", "/v1/audio/transcriptions"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/stt-1"),
    ("POST", "/api/v1/audio/transcribe"),
    ("POST", "/api/v1/audio/synthesize"),
    ("GET", "/api/v1/audio/voices"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/metrics"),
]
_OF_RINGS = [
    ("GET", "/dashboard/data/account"),
    ("GET", "/dashboard/data/usage"),
    ("GET", "/dashboard/data/outcomes"),
    ("GET", "/openapi.json"),
]


async def test_an_unknown_query_parameter_is_400_and_named_everywhere(client: Client, mobile: dict[str, str]) -> None:
    of_rings = _OF_RINGS if client.app[RINGS] else []
    for method, path in [*_PATHS, *of_rings]:
        headers = mobile if path.startswith("/api/") else {}
        response = await client.request(method, f"{path}?user=me&x", headers=headers)
        error = await _error(response)
        assert (response.status, error["param"], error["message"]) == (400, "user", "unknown parameter: user"), path
        assert client.app[PATHS].limit_of(path) is None or "X-RateLimit-Limit" in response.headers


@pytest.mark.parametrize("query", ["=x", "%ff=1", "%00", "a" * 5000])
async def test_a_query_parameter_of_any_name_is_400(client: Client, query: str) -> None:
    assert (await client.get(f"/v1/models?{query}")).status == 400
    assert (await client.get(f"/v1/nothing?{query}")).status == 404


async def test_a_key_is_checked_before_query_parameters(client: Client) -> None:
    assert await status_of(client, "/v1/models?x=1", "wrong") == 401


async def test_multipart_to_a_json_endpoint_is_400(client: Client) -> None:
    form = FormData()
    form.add_field("input", "x", content_type="text/plain", filename="a")
    assert (await client.post(EMBED, data=form)).status == 400


async def test_json_to_a_multipart_endpoint_is_400(client: Client) -> None:
    assert (await client.post("/v1/audio/transcriptions", json={"file": "x"})).status == 400


async def test_a_body_over_the_limit_is_413(client: Client) -> None:
    response = await client.post(EMBED, data=io.BytesIO(b'{"input": "' + b"x" * 5_000_000 + b'"}'))
    assert response.status == 413
    assert (await _error(response))["type"] == "request_too_large"


async def test_an_unforeseen_error_is_500_without_details(
    client: Client, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: object) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(triton, "infer", fail)
    response = await client.post(EMBED, json={"input": "x"})
    assert response.status == 500
    error = await _error(response)
    assert "secret" not in error["message"]
    assert response.headers["X-Request-Id"] in error["message"]
    assert "X-RateLimit-Remaining" in response.headers


async def test_the_model_list_has_every_name(client: Client) -> None:
    names = [model["id"] for model in (await (await client.get("/v1/models")).json())["data"]]
    assert names == ["stt-1", "stt-1-hd", "tts-1", "tts-1-hd", "embed-m3", "rerank-v2-m3", *ADDED_NAMES]


async def test_an_unknown_model_is_404(client: Client) -> None:
    assert (await client.get("/v1/models/gpt")).status == 404


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
async def test_without_an_upstream_chat_is_404(client: Client, path: str) -> None:
    response = await client.post(path, json={"model": "m"})
    assert response.status == 404
    assert (await _error(response))["type"] == "invalid_request_error"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "audio/wav", "nonsense"])
async def test_json_is_taken_under_any_content_type(client: Client, kind: str) -> None:
    response = await client.post(EMBED, data=b'{"input": "x"}', headers={"Content-Type": kind})
    assert response.status == 200
