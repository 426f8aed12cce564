"""A deployment that serves some of the catalogue."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from frontend.app import create_app
from frontend.audio import encode
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.http.runner import Runner
from tests.conftest import ROOT, Client, running
from tests.fakes import FakeTriton


@pytest.fixture
def alone(settings: Settings, tmp_path: Path) -> Settings:
    """Nothing but the embedder, which is all that was exported."""
    repository = tmp_path / "models"
    shutil.copytree(ROOT / "model_repository" / "m3_embedder", repository / "m3_embedder")
    return dataclasses.replace(settings, models="embed-m3", model_repository=repository)


async def _status(client: Client, path: str) -> int:
    return (await client.post(path, json={"input": "a"})).status


async def _start(settings: Settings) -> None:
    runner = Runner(create_app(settings, connect=lambda address: FakeTriton()), settings)
    try:
        await runner.setup()
    finally:
        await runner.cleanup()


async def test_what_is_served_works_though_nothing_else_was_exported(alone: Settings) -> None:
    async with running(alone, FakeTriton()) as client:
        assert await _status(client, "/v1/embeddings") == 200
        assert [model["id"] for model in (await (await client.get("/v1/models")).json())["data"]] == ["embed-m3"]
        assert (await (await client.get("/health/ready")).json())["models"] == {"m3_embedder": "ready"}


async def test_an_operation_that_is_not_served_has_no_path(alone: Settings) -> None:
    async with running(alone, FakeTriton()) as client:
        assert await _status(client, "/v1/audio/speech") == 404
        assert list((await (await client.get("/openapi.json")).json())["paths"]) == [
            "/v1/embeddings",
            "/v1/models",
            "/v1/models/{name}",
        ]


async def test_a_model_or_a_voice_that_is_not_served_is_unknown(settings: Settings) -> None:
    some = dataclasses.replace(settings, models="tts-1,embed-m3", voices="amy")
    async with running(some, FakeTriton()) as client:
        for named, told in (({"voice": "paola"}, "voices are amy"), ({"model": "tts-1-hd"}, "this endpoint has tts-1")):
            refused = await client.post("/v1/audio/speech", json={"input": "a", "voice": "amy", **named})
            assert refused.status == 400
            assert (await refused.json())["error"]["message"].endswith(told)


async def test_an_export_of_fewer_tokens_than_the_catalogue_has_is_refused_at_the_start(alone: Settings) -> None:
    path = alone.model_repository / "m3_embedder" / "1" / "quartet.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "max_tokens": 512}), encoding="utf-8")
    with pytest.raises(SettingsError, match="m3_embedder takes 512 tokens of a text, and the catalogue has 8192"):
        await _start(alone)


async def test_an_audio_format_without_an_encoder_is_refused_at_the_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(encode.ENCODERS, "mp3")
    with pytest.raises(SettingsError, match="the catalogue's audio format 'mp3' has no encoder"):
        await _start(settings)
