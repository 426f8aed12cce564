"""/openapi.json is whole and true, and a client that a generator makes of it knows every operation."""

import asyncio
import dataclasses
import json
import os
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from frontend.app import create_app
from frontend.catalogue.aliases import Aliases
from frontend.config.settings import Settings
from frontend.errors import ApiError
from frontend.pages.openapi import document
from tests.conftest import KEY, ROOT, Client
from tests.speech import encode, say
from tests.upstream import Upstream

# Of people and of probes.
UNDOCUMENTED = re.compile(r"/(|health/.*|metrics|\w+\.(json|ico)|docs.*|(shared|home)/.*|(playground|dashboard).*)")


CHAT = Settings(chat_upstream="http://127.0.0.1:1/v1")
DOCUMENT = document(CHAT)


def test_the_document_is_valid_openapi() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()


@pytest.mark.parametrize(
    "settings",
    [Settings(), CHAT, Settings(aliases=Aliases(models={"whisper-1": "stt-1"})), Settings(extensions="all")],
    ids=["", "chat", "aliases", "extensions"],
)
def test_the_openapi_document_has_every_route_and_no_other(settings: Settings) -> None:
    routes = {
        (route.method.lower(), route.resource.canonical)
        for route in create_app(settings).router.routes()
        if route.method != "HEAD" and route.resource and not UNDOCUMENTED.fullmatch(route.resource.canonical)
    }
    assert routes == {(method, path) for path, item in document(settings)["paths"].items() for method in item}


def test_the_openapi_document_has_every_type_of_error() -> None:
    def kinds(kind: type[ApiError]) -> set[str]:
        return {kind.type}.union(*map(kinds, kind.__subclasses__()))

    error = DOCUMENT["components"]["schemas"]["Error"]["properties"]["error"]
    assert set(error["properties"]["type"]["enum"]) == kinds(ApiError)


def test_every_operation_names_its_refusals() -> None:
    for path, item in DOCUMENT["paths"].items():
        for operation in item.values():
            wanted = {"200", "400", "401", "500", "502"}
            if "requestBody" in operation:
                wanted |= {"408", "413", "415", "429"}
            assert wanted <= set(operation["responses"]), path


async def test_the_openapi_document_needs_no_key(client: Client, settings: Settings) -> None:
    response = await client.get("/openapi.json", headers={"Authorization": ""})
    assert (await response.json()) == document(settings)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": "a"}),
        ("/v1/embeddings", {"input": ["a"], "encoding_format": "base64"}),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "return_documents": True}),
        ("/v1/embeddings", {"input": 1}),
    ],
)
async def test_an_answer_fits_its_schema(client: Client, path: str, body: dict[str, Any]) -> None:
    response = await client.post(path, json=body)
    whole = document(Settings())
    answer = whole["paths"][path]["post"]["responses"][str(response.status)]
    if "$ref" in answer:
        answer = whole["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
    schema = {**answer["content"]["application/json"]["schema"], "components": whole["components"]}
    Draft202012Validator(schema).validate(await response.json())


@pytest.mark.parametrize("name", ["nothing.js", "..%2f..%2fapp.py", "%2e%2e%2fapp.py"])
async def test_other_files_are_404(client: Client, name: str) -> None:
    assert (await client.get(f"/docs/{name}")).status == 404


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


@pytest.mark.contract_only
async def test_a_generated_client_calls_every_operation(
    client: Client, settings: Settings, mobile: dict[str, str], tmp_path: Path
) -> None:
    described, recording = tmp_path / "openapi.json", tmp_path / "a.wav"
    described.write_text(await (await client.get("/openapi.json")).text(), encoding="utf-8")
    recording.write_bytes(encode(say("Good morning."), "wav"))
    making = [BIN / "openapi-python-client", "generate", "--path", described, "--meta", "none", "--fail-on-warning"]
    await _run(*making, "--output-path", tmp_path / "quartet_client")
    output = await _run(
        BIN / "python",
        CLIENTS / "generated.py",
        recording,
        PYTHONPATH=str(tmp_path),
        QUARTET_URL=str(client.make_url("/")).rstrip("/"),
        QUARTET_API_KEY=KEY,
        QUARTET_TOKEN=mobile["Authorization"].removeprefix("Bearer "),
    )
    answers, verbose = json.loads(output.splitlines()[-1])
    assert verbose == ["hello there", "en", 1, [" hello", " there"]]
    names = (item["operationId"] for path in document(settings)["paths"].values() for item in path.values())
    assert set(answers) == {re.sub(r"([A-Z])", r"_\1", name).lower() for name in names}
    assert answers == {
        "create_transcription": [200, "Transcription"],
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


def test_every_enum_holds_non_empty_strings_alone() -> None:
    enums = [each["enum"] for each in _objects(DOCUMENT) if isinstance(each.get("enum"), list)]
    assert enums
    assert [value for enum in enums for value in enum if not isinstance(value, str) or not value] == []


@pytest.mark.parametrize("settings", [CHAT, dataclasses.replace(CHAT, extensions="all")], ids=["", "extensions"])
def test_no_answer_has_alternatives(settings: Settings) -> None:
    """Generated clients lose the fields of an alternative, wrap it, or do not compile."""
    whole = document(settings)
    asked = [item["requestBody"] for path in whole["paths"].values() for item in path.values() if "requestBody" in item]
    for item in asked:
        item.clear()
    assert [each for each in _objects(whole) if each.keys() & {"oneOf", "anyOf", "allOf"}] == []
    typed = [each["type"] for each in _objects(whole) if isinstance(each.get("type"), list)]
    assert [kinds for kinds in typed if "null" not in kinds] == []


def test_no_parameter_is_a_list_or_something_else() -> None:
    """OpenAPI Generator's Java does not compile with such alternatives."""
    assert [each for each in _objects(DOCUMENT) if each.keys() & {"oneOf", "anyOf"}] == []


def test_every_json_body_has_an_example() -> None:
    bodies = [path["post"]["requestBody"] for path in DOCUMENT["paths"].values() if "post" in path]
    contents = [body["content"]["application/json"] for body in bodies if "application/json" in body["content"]]
    assert len(contents) == 6
    assert all("example" in content for content in contents)
