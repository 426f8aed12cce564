"""The list of models has the chat server's own, if the extension is on."""

import asyncio
from typing import Any
from unittest.mock import patch

import pytest

from frontend.config.settings import Settings
from frontend.extensions.chat import models
from frontend.extensions.chat.models import MOST_MODELS, parse
from tests.conftest import Client
from tests.upstream import KEY, Upstream

OTHER = {"id": "a/chat-model", "object": "model", "created": 7, "owned_by": "us"}


@pytest.fixture
def settings(settings: Settings, upstream: Upstream) -> Settings:
    return upstream.serves(settings)


on = pytest.mark.settings(extensions="chat_models")


async def _ids(client: Client) -> list[str]:
    async with client.get("/v1/models") as response:
        return [model["id"] for model in (await response.json())["data"]]


@on
async def test_the_chat_servers_models_come_after_ours(client: Client, upstream: Upstream) -> None:
    upstream.models["data"] += [{"id": "stt-1", "owned_by": "other"}, {"id": ""}, {"id": 5}, "x"]
    listed = (await (await client.get("/v1/models")).json())["data"]
    assert [each["id"] for each in listed][-2:] == ["rerank-v2-m3", "a/chat-model"]
    assert listed[-1] == OTHER
    assert {each["owned_by"] for each in listed[:-1]} == {"quartet"}
    assert upstream.received[0][1]["Authorization"] == f"Bearer {KEY}"


@on
async def test_one_of_them_is_shown(client: Client) -> None:
    assert await (await client.get("/v1/models/a/chat-model")).json() == OTHER
    assert (await client.get("/v1/models/other")).status == 404


@on
async def test_many_callers_ask_the_chat_server_once(client: Client, upstream: Upstream) -> None:
    upstream.slow = 0.4
    gone, *others = [asyncio.create_task(_ids(client)) for _ in range(20)]
    await asyncio.sleep(0.2)
    gone.cancel()
    assert all("a/chat-model" in ids for ids in await asyncio.gather(*others))
    await _ids(client)
    assert len(upstream.received) == 1


@on
@pytest.mark.parametrize("listed", [{"data": None}, [], {"data": [{"id": "x" * 2_000_000}]}])
async def test_a_chat_server_that_lists_nothing_leaves_ours(client: Client, upstream: Upstream, listed: Any) -> None:
    upstream.models = listed
    assert len(await _ids(client)) == 6
    await _ids(client)
    assert len(upstream.received) == 1


@on
async def test_a_slow_chat_server_leaves_ours(client: Client, upstream: Upstream) -> None:
    upstream.slow = 30.0
    with patch.object(models, "_ANSWER_SECONDS", 0.1):
        assert len(await _ids(client)) == 6


@on
async def test_a_list_is_fetched_anew_when_it_is_old(client: Client, upstream: Upstream) -> None:
    with patch.object(models, "_KEPT_SECONDS", 0.0):
        await _ids(client)
    upstream.models = {"data": [{"id": "new"}]}
    assert (await _ids(client))[-1] == "new"


@on
@pytest.mark.parametrize("fault", ["nothing", "slow", "away"])
async def test_a_chat_server_that_fails_once_keeps_its_last_list(
    client: Client, upstream: Upstream, fault: str
) -> None:
    with patch.object(models, "_KEPT_SECONDS", 0.0), patch.object(models, "_ANSWER_SECONDS", 0.5):
        assert len(await _ids(client)) == 7
        if fault == "nothing":
            upstream.models = {}
        elif fault == "slow":
            upstream.slow = 30.0
        else:
            await upstream.server.close()
        with patch.object(models, "_RETRY_SECONDS", 0.0):
            assert [(await _ids(client))[-1] for _ in range(2)] == ["a/chat-model"] * 2
    if fault != "away":
        upstream.models, upstream.slow = {"data": []}, 0.0
        assert len(await _ids(client)) == 6


@pytest.mark.contract_only
async def test_without_the_extension_the_chat_server_is_not_asked(client: Client, upstream: Upstream) -> None:
    assert len(await _ids(client)) == 6
    assert (await client.get("/v1/models/a/chat-model")).status == 404
    assert not upstream.received


async def test_a_list_has_a_bound() -> None:
    data = b'{"data":[' + b",".join(b'{"id":"%d"}' % number for number in range(2000)) + b"]}"
    assert len(parse(data)) == MOST_MODELS


def test_a_time_of_creation_is_a_number() -> None:
    entries = parse(b'{"data": [{"id": "a", "created": true}, {"id": "b", "created": 7}]}')
    assert [repr(entry["created"]) for entry in entries.values()] == ["0", "7"]
