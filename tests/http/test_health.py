"""Whether this process lives, and whether it can serve."""

import asyncio
import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest

from frontend.catalogue.models import Served
from frontend.config.settings import Settings
from frontend.tritons.triton import Arrays
from tests.conftest import Client, running
from tests.fakes import FakeTriton

TRITON_MODELS = Served.of().triton_models
VOICE, EMBEDDER = "piper_amy", "m3_embedder"


class PartOfATriton(FakeTriton):
    """Lacks some models."""

    def __init__(self, lacking: Collection[str]) -> None:
        super().__init__()
        self._lacking = lacking

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        return await super().ready_models(models) - set(self._lacking)


def _without_numbers(arrays: Arrays) -> Arrays:
    """As an int8 graph answers on a processor whose products saturate."""
    return {name: np.full_like(array, np.nan) for name, array in arrays.items()}


async def _ready(client: Client) -> tuple[int, Any]:
    response = await client.get("/health/ready")
    return response.status, await response.json()


async def test_a_process_lives_whatever_its_models_do(settings: Settings) -> None:
    async with running(settings, PartOfATriton(lacking=TRITON_MODELS)) as client:
        assert (await client.get("/health/live")).status == 200


async def test_the_state_of_every_model_stands_in_the_body(client: Client) -> None:
    assert await _ready(client) == (200, {"status": "ready", "models": dict.fromkeys(TRITON_MODELS, "ready")})


async def test_a_lost_voice_does_not_take_the_process_away(settings: Settings) -> None:
    async with running(settings, PartOfATriton(lacking=[VOICE])) as client:
        status, body = await _ready(client)
    assert (status, body["status"]) == (200, "ready")
    assert {model for model, state in body["models"].items() if state == "away"} == {VOICE}


async def test_a_process_without_any_model_is_not_ready_until_one_is_back(client: Client, triton: FakeTriton) -> None:
    for up, status in ((False, 503), (True, 200)):
        triton.up = up
        async with asyncio.timeout(20):
            while (await _ready(client))[0] != status:
                pass


@pytest.mark.parametrize(("setting", "status"), [("any", 503), ("none", 200)])
async def test_a_process_without_any_model_is_ready_where_none_must_be_there(
    settings: Settings, setting: str, status: int
) -> None:
    settings = dataclasses.replace(settings, ready_models=setting)
    async with running(settings, PartOfATriton(lacking=TRITON_MODELS)) as client:
        assert (await _ready(client))[0] == status


@pytest.mark.parametrize(
    ("setting", "status"),
    [("any", 200), ("none", 200), ("all", 503), (VOICE, 503), (f"whisper_turbo, {EMBEDDER}", 200)],
)
async def test_which_models_must_be_there_is_a_setting(settings: Settings, setting: str, status: int) -> None:
    settings = dataclasses.replace(settings, ready_models=setting)
    async with running(settings, PartOfATriton(lacking=[VOICE])) as client:
        assert (await _ready(client))[0] == status


@pytest.mark.parametrize(("setting", "status"), [("any", 503), ("whisper_turbo", 200), (EMBEDDER, 503)])
async def test_a_model_without_numbers_fails_readiness_and_gets_no_calls(
    settings: Settings, triton: FakeTriton, setting: str, status: int
) -> None:
    triton.spoil = _without_numbers
    async with running(dataclasses.replace(settings, ready_models=setting), triton) as client:
        answered, body = await _ready(client)
        refused = await client.post("/v1/embeddings", json={"input": "a"})
    assert (answered, body["models"][EMBEDDER], refused.status) == (status, "unfit", 502)
    assert triton.calls == []
