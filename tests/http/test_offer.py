"""What a deployment offers, as its pages show it: what is served and set, and nothing of its own."""

import dataclasses
from typing import Any

import pytest

from frontend.catalogue.prices import Price
from frontend.config.settings import Settings
from scripts.export_models.demo.published import REAL_VOICE
from tests.conftest import Client


async def _offer(client: Client) -> Any:
    async with client.get("/offer.json", headers={"Authorization": ""}) as response:
        assert response.status == 200
        return await response.json()


async def test_it_has_what_callers_can_name(client: Client, mobile: dict[str, str]) -> None:
    offer = await _offer(client)
    async with client.get("/v1/models") as response:
        assert [model["id"] for model in offer["models"]] == [each["id"] for each in (await response.json())["data"]]
    async with client.get("/api/v1/audio/voices", headers=mobile) as response:
        assert offer["voices"] == (await response.json())["voices"]


async def test_the_models_behind_it_are_those_of_readiness(client: Client) -> None:
    behind = {name for model in (await _offer(client))["models"] for name in model["triton_models"]}
    async with client.get("/health/ready") as response:
        assert behind == (await response.json())["models"].keys()


class TestOfADeployment:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        price = Price("speech", "million_characters", 7_500_000)
        prices = {**settings.prices, "tts-1": price}
        return dataclasses.replace(settings, prices=prices, models="tts-1", voices="amy,siwis")

    async def test_it_has_the_prices_that_are_set_and_what_is_served_alone(self, client: Client) -> None:
        offer = await _offer(client)
        assert offer["models"] == [
            {
                "id": "tts-1",
                "operation": "speech",
                "triton_models": ["piper_amy", "piper_siwis"],
                "price": {"chf": "7.50", "unit": "million_characters", "size": 1_000_000},
            }
        ]
        assert [voice["name"] for voice in offer["voices"]] == ["amy", "siwis"]


async def test_it_tells_which_voices_sound_like_robots(client: Client) -> None:
    offer = await _offer(client)
    assert {voice["name"] for voice in offer["voices"]} - set(offer["robots"]) == {REAL_VOICE}
