"""A client that a generator makes of /openapi.json knows every operation, and what it sends and reads is right."""

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frontend.config.settings import Settings
from frontend.pages.openapi import document
from tests.conftest import KEY, ROOT, Client
from tests.speech import encode, say
from tests.upstream import Upstream

BIN = Path(sys.prefix) / "clients" / "bin"
CLIENTS = ROOT / "tests" / "clients"


@pytest.fixture
def settings(settings: Settings, upstream: Upstream) -> Settings:
    return upstream.serves(settings)


async def _run(*command: object, **environ: str) -> str:
    own = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **environ}
    process = await asyncio.create_subprocess_exec(*map(str, command), env=own, stdout=PIPE, stderr=STDOUT)
    output = (await process.communicate())[0].decode()
    assert process.returncode == 0, output
    return output


async def test_a_generated_client_calls_every_operation(
    client: Client, settings: Settings, mobile: dict[str, str], tmp_path: Path
) -> None:
    described, recording = tmp_path / "openapi.json", tmp_path / "a.wav"
    described.write_text(await (await client.get("/openapi.json")).text(), encoding="utf-8")
    recording.write_bytes(encode(say("Good morning."), "wav"))
    making = [BIN / "openapi-python-client", "generate", "--path", described, "--meta", "none", "--fail-on-warning"]
    await _run(*making, "--output-path", tmp_path / "quartet_client", "--config", CLIENTS / "generated.yaml")
    output = await _run(
        BIN / "python",
        CLIENTS / "generated.py",
        recording,
        PYTHONPATH=str(tmp_path),
        QUARTET_URL=str(client.make_url("/")).rstrip("/"),
        QUARTET_API_KEY=KEY,
        QUARTET_TOKEN=mobile["Authorization"].removeprefix("Bearer "),
    )
    answers = json.loads(output.splitlines()[-1])
    names = (item["operationId"] for path in document(settings)["paths"].values() for item in path.values())
    assert set(answers) == {re.sub(r"([A-Z])", r"_\1", name).lower() for name in names}
    assert answers == {
        "create_transcription": [200, "VerboseTranscription"],
        "create_speech": [200, "File"],
        "create_embedding": [200, "EmbeddingList"],
        "create_rerank": [200, "Ranking"],
        "create_chat_completion": [200, "dict"],
        "create_response": [200, "dict"],
        "list_models": [200, "ModelList"],
        "retrieve_model": [200, "Model"],
        "transcribe": [200, "MobileTranscription"],
        "synthesize": [200, "File"],
        "list_voices": [200, "Voices"],
    }


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a document."""
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        yield from _objects(child)
    if isinstance(value, dict):
        yield value


def test_an_enum_holds_strings_alone_and_none_is_empty(settings: Settings) -> None:
    enums = [each["enum"] for each in _objects(document(settings)) if isinstance(each.get("enum"), list)]
    assert enums
    assert [value for enum in enums for value in enum if not isinstance(value, str) or not value] == []


def test_no_object_has_alternatives_beside_its_properties(settings: Settings) -> None:
    assert [each for each in _objects(document(settings)) if {"anyOf", "properties"} <= each.keys()] == []


def test_every_json_body_has_an_example(settings: Settings) -> None:
    bodies = [path["post"]["requestBody"] for path in document(settings)["paths"].values() if "post" in path]
    contents = [body["content"]["application/json"] for body in bodies if "application/json" in body["content"]]
    assert len(contents) == 6
    assert all("example" in content for content in contents)
