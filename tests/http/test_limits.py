"""Rate limits as a client meets them."""

from typing import Any

import pytest

from frontend.access import api_key
from frontend.config.settings import Settings
from tests.charges import other_key
from tests.clocks import LimitsClock
from tests.conftest import Client, bearer
from tests.http.calls import EMBED

HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@pytest.fixture
async def limited(limits_clock: LimitsClock, settings: Settings, client: Client) -> dict[str, str]:
    """The header of a key that may embed five times a minute."""
    return bearer(await other_key(settings, limits={"embeddings": 5}))


async def _ask(client: Client, headers: dict[str, str], body: Any = None) -> Any:
    return await client.post(EMBED, json=body or {"input": "a"}, headers=headers)


async def test_remaining_counts_down(client: Client, limited: dict[str, str]) -> None:
    answers = [await _ask(client, limited) for _ in range(3)]
    assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == ["4", "3", "2"]
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"5"}


async def test_a_refusal_names_the_limit_and_when_to_come_back(client: Client, limited: dict[str, str]) -> None:
    for _ in range(5):
        await _ask(client, limited)
    refusal = await _ask(client, limited)
    assert refusal.status == 429
    assert 1 <= int(refusal.headers["Retry-After"]) <= 60
    error = (await refusal.json())["error"]
    assert (error["type"], error["message"]) == ("rate_limit_exceeded", "rate limit exceeded (5/min)")
    assert refusal.headers["X-RateLimit-Remaining"] == "0"


async def test_a_request_that_is_refused_for_its_body_has_counted(client: Client, limited: dict[str, str]) -> None:
    refusal = await _ask(client, limited, {"input": 1})
    assert refusal.status == 400
    assert refusal.headers["X-RateLimit-Remaining"] == "4"


@pytest.mark.parametrize("path", [EMBED, "/v1/rerank", "/v1/audio/speech", "/v1/audio/transcriptions"])
async def test_every_limited_endpoint_sends_its_limit(client: Client, path: str) -> None:
    answer = await client.post(path, json={})
    assert answer.status == 400
    assert all(name in answer.headers for name in HEADERS)


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/stt-1", "/health/live", "/v1/nothing", EMBED])
async def test_other_paths_send_no_limit(client: Client, path: str) -> None:
    answer = await client.get(path)
    assert not any(name in answer.headers for name in HEADERS)


async def test_a_refusal_of_a_wrong_key_has_no_limit(client: Client) -> None:
    refusal = await _ask(client, bearer(api_key.new_key()))
    assert refusal.status == 401
    assert not any(name in refusal.headers for name in HEADERS)
