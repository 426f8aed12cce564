"""JSON Schema for the operations' fragments of the OpenAPI document."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from frontend.catalogue.parameters import without_spellings

Schema = dict[str, Any]


@dataclass(frozen=True)
class OpenApiFragment:
    """The paths of an operation, and the schemas that they refer to."""

    paths: Schema
    schemas: Schema = field(default_factory=dict)


def answer_object(properties: Schema, *optional: str) -> Schema:
    """An object of an answer, with only these properties. All but the ``optional`` ones are required."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def request_object(properties: Schema, *required: str) -> Schema:
    """A JSON body or a form, with only these properties.

    Null and an empty string are the same as absent, which the schema omits: many client generators fail on it.
    """
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": properties}


def one_of(names: Iterable[str], **more: Any) -> Schema:
    return {"type": "string", "enum": [*names], **more}


def ignored(names: Collection[str]) -> Schema:
    """Parameters that a deployment accepts and ignores, each in one spelling: generators of clients need that."""
    return {name: {"description": "Accepted and ignored."} for name in without_spellings(names)}


def reference(name: str) -> Schema:
    """A reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def json_content(schema: Schema, example: Schema | None = None) -> Schema:
    """A body or an answer of JSON."""
    return {"content": {"application/json": {"schema": schema} | ({} if example is None else {"example": example})}}


def post(name: str, summary: str, body: Schema, answer: Schema, **more: Any) -> Schema:
    """A path with ``POST``. ``name`` is its name in clients; ``body`` and ``answer`` are content objects."""
    request = {"required": True, **body}
    responses = {"200": answer}
    return {"post": {"operationId": name, "summary": summary, **more, "requestBody": request, "responses": responses}}


def get(name: str, summary: str, answer: Schema, **more: Any) -> Schema:
    return {"get": {"operationId": name, "summary": summary, **more, "responses": {"200": answer}}}
