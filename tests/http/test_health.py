"""Whether this process lives, and whether it can serve."""

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from frontend.catalogue.models import Added, Served
from frontend.catalogue.voices import exported_voices
from frontend.config.settings import Settings
from frontend.tritons.triton import Arrays
from tests.conftest import ROOT, Client, running
from tests.fakes import FakeTriton

TRITON_MODELS = Served.of(added=Added(exported_voices(ROOT / "model_repository"))).triton_models
VOICE, EMBEDDER = "kokoro", "m3_embedder"


def _lacking(*models: str) -> FakeTriton:
    """A Triton without these models."""
    triton = FakeTriton()
    triton.lacking = set(models)
    return triton


def _without_numbers(arrays: Arrays) -> Arrays:
    """As an int8 graph answers on a processor whose products saturate."""
    return {name: np.full_like(array, np.nan) for name, array in arrays.items()}


async def _ready(client: Client) -> tuple[int, Any]:
    async with client.get("/health/ready") as response:
        return response.status, await response.json()


async def test_a_process_lives_whatever_its_models_do(settings: Settings) -> None:
    async with running(settings, _lacking(*TRITON_MODELS)) as client:
        assert (await client.get("/health/live")).status == 200


async def test_the_body_has_the_state_of_every_model(client: Client) -> None:
    assert await _ready(client) == (200, {"status": "ready", "models": dict.fromkeys(TRITON_MODELS, "ready")})


async def test_a_process_that_lacks_a_voice_is_ready(settings: Settings) -> None:
    async with running(settings, _lacking(VOICE)) as client:
        status, body = await _ready(client)
    assert (status, body["status"]) == (200, "ready")
    assert {model for model, state in body["models"].items() if state == "away"} == {VOICE}


async def test_a_process_without_any_model_is_not_ready_until_one_is_back(client: Client, triton: FakeTriton) -> None:
    for up, status in ((False, 503), (True, 200)):
        triton.up = up
        async with asyncio.timeout(20):
            while (await _ready(client))[0] != status:
                pass


@pytest.mark.parametrize(
    ("setting", "lacking", "status"),
    [
        ("any", TRITON_MODELS, 503),
        ("none", TRITON_MODELS, 200),
        ("any", [VOICE], 200),
        ("all", [VOICE], 503),
        (VOICE, [VOICE], 503),
        (f"whisper_turbo, {EMBEDDER}", [VOICE], 200),
    ],
)
async def test_readiness_needs_the_models_of_the_setting(
    settings: Settings, setting: str, lacking: Sequence[str], status: int
) -> None:
    async with running(dataclasses.replace(settings, ready_models=setting), _lacking(*lacking)) as client:
        assert (await _ready(client))[0] == status


@pytest.mark.parametrize(("setting", "status"), [("any", 503), ("whisper_turbo", 200), (EMBEDDER, 503)])
async def test_a_model_that_computes_no_numbers_fails_readiness_and_gets_no_calls(
    settings: Settings, triton: FakeTriton, setting: str, status: int
) -> None:
    triton.spoil = _without_numbers
    async with running(dataclasses.replace(settings, ready_models=setting), triton) as client:
        answered, body = await _ready(client)
        refused = await client.post("/v1/embeddings", json={"input": "a"})
    assert (answered, body["models"][EMBEDDER], refused.status) == (status, "unfit", 502)
    assert triton.calls == []
