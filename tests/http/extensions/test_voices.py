"""Voices that an operator has added, and the list of voices with samples."""

import dataclasses
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from openapi_spec_validator import OpenAPIV31SpecValidator

from frontend.catalogue.added_models import added_in
from frontend.catalogue.models import Added, Served
from frontend.catalogue.voices import UNKNOWN, VOICES, exported_voices
from frontend.config.settings import Settings
from frontend.pages.openapi import document
from tests.conftest import ROOT, Client, running, settings_in
from tests.fakes import FakeTriton
from tests.http.calls import refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIST, SAMPLE = "/v1/audio/voices", b"RIFF, a sentence"


def _repository(folder: Path) -> Path:
    """The exported models, ryan of an old export without a sample, and the added voice eva."""
    exported = ROOT / "model_repository"
    for model in set(Served.of(added=Added(exported_voices(exported))).triton_models) - {"piper_ryan"}:
        (folder / model).symlink_to(exported / model)
    description = exported / "piper_ryan" / "1" / "voice.json"
    for name, more in (("ryan", {}), ("eva", {"added": {"language": "es", "gender": UNKNOWN}})):
        voice = folder / f"piper_{name}" / "1"
        voice.mkdir(parents=True)
        text = json.dumps({**json.loads(description.read_text(encoding="utf-8")), **more})
        (voice / "voice.json").write_text(text, encoding="utf-8")
    (folder / "piper_eva" / "1" / "sample.wav").write_bytes(SAMPLE)
    return folder


@pytest.fixture(scope="module")
def chosen(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("voices")
    shutil.copy(database, folder / "quartet.sqlite3")
    repository = _repository(tmp_path_factory.mktemp("repository"))
    own = settings_in(folder, added=added_in(repository), extensions="voice_list")
    return dataclasses.replace(own, model_repository=repository)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(chosen: Settings) -> AsyncIterator[tuple[Client, FakeTriton]]:
    triton = FakeTriton()
    async with running(chosen, triton) as connected:
        yield connected, triton


@pytest.fixture
def settings(chosen: Settings) -> Settings:
    return chosen


async def test_exported_voices_are_listed_after_the_six_with_sample_rate_and_sample(client: Client) -> None:
    listed = (await (await client.get(LIST)).json())["voices"]
    assert [voice["id"] for voice in listed] == [*VOICES, "eva"]
    assert listed[-1] == {
        "id": "eva",
        "name": "eva",
        "language": "es",
        "gender": "unknown",
        "sample_rate": 22_050,
        "sample": f"{LIST}/eva/sample",
    }


async def test_a_voice_of_an_old_export_has_no_sample(client: Client) -> None:
    ryan = next(voice for voice in (await (await client.get(LIST)).json())["voices"] if voice["id"] == "ryan")
    assert (ryan["sample_rate"], "sample" in ryan) == (22_050, False)
    assert await refusal(await client.get(f"{LIST}/ryan/sample")) == (404, "voice")


async def test_a_voice_of_kokoro_has_its_sample_rate_and_its_sample(client: Client) -> None:
    paola = next(voice for voice in (await (await client.get(LIST)).json())["voices"] if voice["id"] == "paola")
    assert paola["sample_rate"] == 24_000
    assert (await (await client.get(paola["sample"])).read())[:4] == b"RIFF"


async def test_a_sample_is_sent_without_a_call_to_triton(client: Client, triton: FakeTriton) -> None:
    answer = await client.get(f"{LIST}/eva/sample")
    assert (answer.headers["Content-Type"], await answer.read(), triton.calls) == ("audio/wav", SAMPLE, [])


async def test_a_sample_needs_a_key(client: Client) -> None:
    assert (await client.get(f"{LIST}/eva/sample", headers={"Authorization": ""})).status == 401


async def test_a_path_is_no_name_of_a_voice(client: Client) -> None:
    assert await refusal(await client.get(f"{LIST}/..%2F..%2Famy/sample")) == (404, "voice")


async def test_an_added_voice_speaks_by_its_name_and_as_the_default_of_its_language(
    client: Client, triton: FakeTriton, mobile: dict[str, str]
) -> None:
    for asked in ({"voice": "eva"}, {"language": "es"}):
        assert (await client.post("/v1/audio/speech", json={"input": "Hola.", **asked})).status == 200
    asked = {"text": "Hola.", "voice": "eva"}
    assert (await client.post("/api/v1/audio/synthesize", json=asked, headers=mobile)).status == 200
    assert [model for model, _ in triton.calls] == ["piper_eva"] * 3


async def test_mobile_apps_see_exported_voices_and_the_same_defaults_of_the_contracts_languages(
    client: Client, mobile: dict[str, str]
) -> None:
    answer = await (await client.get("/api/v1/audio/voices", headers=mobile)).json()
    assert answer["voices"][-1] == {"name": "eva", "language": "es", "gender": "unknown"}
    assert (answer["defaults_by_language"]["en"], answer["defaults_by_language"]["es"]) == ("amy", "eva")


async def test_the_openapi_document_has_samples_and_exported_voices(chosen: Settings) -> None:
    whole = document(chosen)
    OpenAPIV31SpecValidator(whole).validate()
    assert f"{LIST}/{{voice}}/sample" in whole["paths"]
    assert whole["components"]["schemas"]["NamedVoice"]["properties"]["gender"]["enum"] == ["female", "male", "unknown"]
