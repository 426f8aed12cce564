"""A deployment that serves some of the catalogue, and what its pages show of it."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from frontend.app import create_app
from frontend.audio import encode
from frontend.catalogue.models import PRICES
from frontend.catalogue.prices import Price
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.http.runner import Runner
from frontend.operations.speech import pipeline
from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
from tests.conftest import ROOT, Client, running
from tests.fakes import FakeTriton

_WEIGHTS = shutil.ignore_patterns("*.onnx*", "model.compiled")


async def _offer(client: Client) -> Any:
    async with client.get("/offer.json", headers={"Authorization": ""}) as response:
        assert response.status == 200
        return await response.json()


async def test_the_offer_has_the_models_and_voices_of_the_api(client: Client, mobile: dict[str, str]) -> None:
    offer = await _offer(client)
    async with client.get("/v1/models") as response:
        assert [model["id"] for model in offer["models"]] == [each["id"] for each in (await response.json())["data"]]
    async with client.get("/api/v1/audio/voices", headers=mobile) as response:
        assert offer["voices"] == (await response.json())["voices"]


async def test_the_triton_models_of_the_offer_are_those_of_readiness(client: Client) -> None:
    behind = {name for model in (await _offer(client))["models"] for name in model["triton_models"]}
    async with client.get("/health/ready") as response:
        assert behind == (await response.json())["models"].keys()


@pytest.mark.settings(
    prices={**PRICES, "tts-1": Price("speech", "million_characters", 7_500_000)},
    models="tts-1",
    voices="paola,amy,ryan",
)
async def test_the_offer_has_only_what_is_served_and_the_prices_of_the_settings(client: Client) -> None:
    offer = await _offer(client)
    assert offer["models"] == [
        {
            "id": "tts-1",
            "operation": "speech",
            "about": "",
            "triton_models": ["kokoro", "piper_ryan"],
            "price": {"chf": "7.50", "unit": "million_characters"},
        }
    ]
    assert [voice["name"] for voice in offer["voices"]] == ["paola", "amy", "ryan"]


async def test_the_offer_and_the_metrics_say_how_each_model_was_exported(settings: Settings, tmp_path: Path) -> None:
    repository = tmp_path / "models"
    for model in ("m3_embedder", "m3_reranker"):
        shutil.copytree(ROOT / "model_repository" / model / "1", repository / model / "1", ignore=_WEIGHTS)
        stamp.remove(repository, model)
    skipped = ["int8: 1 - cosine is 0.3, over 0.001", "bf16: no file '/srv/models/a.onnx' at 1/2"]
    stamp.write(repository, "m3_embedder", Stamp(way="fp32", skipped=skipped))
    settings = dataclasses.replace(settings, model_repository=repository, models="embed-m3,rerank-v2-m3")
    async with running(settings, FakeTriton()) as client:
        # No folder of the machine is named.
        shown = ["int8: 1 - cosine is 0.3, over 0.001", "bf16: no file 'a.onnx' at 1/2"]
        exports = {"m3_embedder": {"way": "fp32", "skipped": shown}, "m3_reranker": {"way": "", "skipped": []}}
        assert (await _offer(client))["exports"] == exports
        text = await (await client.get("/metrics")).text()
    labels = 'model="m3_embedder",skipped="int8,bf16",way="fp32"'
    assert f"quartet_model_export_info{{{labels}}} 1.0" in text
    assert 'quartet_model_export_info{model="m3_reranker",skipped="",way=""}' not in text


async def test_the_offer_says_which_voices_have_an_accent(client: Client) -> None:
    assert (await _offer(client))["accents"] == {"thorsten": "es"}


@pytest.fixture
def alone(settings: Settings, tmp_path: Path) -> Settings:
    """Nothing but the embedder, which is all that was exported."""
    repository = tmp_path / "models"
    shutil.copytree(ROOT / "model_repository" / "m3_embedder", repository / "m3_embedder", ignore=_WEIGHTS)
    return dataclasses.replace(settings, models="embed-m3", model_repository=repository)


@pytest.mark.parametrize("source", ["demo", "hub"])
async def test_the_pages_name_the_models_of_the_demo_as_such(alone: Settings, source: str) -> None:
    stamp.write(alone.model_repository, "m3_embedder", Stamp(way="fp32", source=source))
    async with running(alone, FakeTriton()) as client:
        pages = [await (await client.get(path)).text() for path in ("/", "/playground")]
    assert ["Demo models" in page for page in pages] == [source == "demo"] * 2


async def _status(client: Client, path: str) -> int:
    return (await client.post(path, json={"input": "a"})).status


async def _start(settings: Settings) -> None:
    runner = Runner(create_app(settings, connect=lambda address: FakeTriton()), settings)
    try:
        await runner.setup()
    finally:
        await runner.cleanup()


async def test_a_deployment_needs_no_export_of_other_models(alone: Settings) -> None:
    async with running(alone, FakeTriton()) as client:
        assert await _status(client, "/v1/embeddings") == 200
        assert [model["id"] for model in (await (await client.get("/v1/models")).json())["data"]] == ["embed-m3"]
        assert (await (await client.get("/health/ready")).json())["models"] == {"m3_embedder": "ready"}


async def test_an_operation_that_is_not_served_has_no_path(alone: Settings) -> None:
    async with running(alone, FakeTriton()) as client:
        assert await _status(client, "/v1/audio/speech") == 404
        paths = list((await (await client.get("/openapi.json")).json())["paths"])
    assert paths == ["/v1/embeddings", "/v1/models", "/v1/models/{name}"]


@pytest.mark.settings(models="tts-1,embed-m3", voices="amy")
async def test_a_model_or_a_voice_that_is_not_served_is_unknown(client: Client) -> None:
    for named, end in (({"voice": "paola"}, "voices are amy"), ({"model": "tts-1-hd"}, "this endpoint has tts-1")):
        refused = await client.post("/v1/audio/speech", json={"input": "a", "voice": "amy", **named})
        assert refused.status == 400
        assert (await refused.json())["error"]["message"].endswith(end)


async def test_an_export_of_fewer_tokens_than_the_catalogue_has_is_refused_at_the_start(alone: Settings) -> None:
    path = alone.model_repository / "m3_embedder" / "1" / "quartet.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "max_tokens": 512}), encoding="utf-8")
    with pytest.raises(SettingsError, match="m3_embedder takes 512 tokens of a text, and the catalogue has 8192"):
        await _start(alone)


async def test_an_audio_format_without_an_encoder_is_refused_at_the_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "ENCODERS", encode.ENCODERS - {"mp3"})
    with pytest.raises(SettingsError, match="the catalogue's audio format 'mp3' has no encoder"):
        await _start(settings)
