import dataclasses
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from frontend.app import create_app
from frontend.config.settings import Settings
from frontend.errors import ApiError
from frontend.pages.openapi import document
from tests.conftest import Client

UNDOCUMENTED = {
    "/",
    "/health/live",
    "/health/ready",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/docs/{name}",
    "/docs/reference",
}
UNDOCUMENTED |= {"/docs/reference", "/shared/{name}", "/home/{name}", "/offer.json"}
UNDOCUMENTED |= {"/playground", "/playground/{name}"}
UNDOCUMENTED |= {"/dashboard", "/dashboard/{name}", "/dashboard/data/account", "/dashboard/data/usage"}
UNDOCUMENTED |= {"/dashboard/data/outcomes"}


def _settings(with_chat: bool) -> Settings:
    return Settings(chat_upstream="http://127.0.0.1:1/v1" if with_chat else "")


def _operations(with_chat: bool = True) -> list[tuple[str, str, dict[str, Any]]]:
    paths = document(_settings(with_chat))["paths"]
    return [(method, path, operation) for path, item in paths.items() for method, operation in item.items()]


def test_the_document_is_valid_openapi() -> None:
    OpenAPIV31SpecValidator(document(_settings(True))).validate()


@pytest.mark.parametrize("upstream", ["", "http://127.0.0.1:1/v1"])
def test_the_document_has_every_route_and_no_other(settings: Settings, upstream: str) -> None:
    app = create_app(dataclasses.replace(settings, chat_upstream=upstream))
    routes = {
        (route.method.lower(), route.resource.canonical)
        for route in app.router.routes()
        if route.method != "HEAD" and route.resource and route.resource.canonical not in UNDOCUMENTED
    }
    assert routes == {(method, path) for method, path, _ in _operations(bool(upstream))}


def test_every_type_of_error_is_in_it() -> None:
    def kinds(kind: type[ApiError]) -> set[str]:
        return {kind.type}.union(*map(kinds, kind.__subclasses__()))

    error = document(_settings(True))["components"]["schemas"]["Error"]["properties"]["error"]
    assert set(error["properties"]["type"]["enum"]) == kinds(ApiError)


def test_every_operation_names_its_refusals() -> None:
    for _, path, operation in _operations():
        wanted = {"200", "400", "401", "500", "502"}
        if "requestBody" in operation:
            wanted |= {"408", "413", "415", "429"}
        assert wanted <= set(operation["responses"]), path


async def test_it_is_served_without_a_key(client: Client) -> None:
    response = await client.get("/openapi.json", headers={"Authorization": ""})
    assert (await response.json()) == document(Settings())


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
