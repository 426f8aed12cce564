"""Pieces of JSON Schema that the operations' parts of the OpenAPI document share."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """What an operation adds to the document: paths, and the schemas that they refer to."""

    paths: Schema
    schemas: Schema = field(default_factory=dict)


def answer_object(properties: Schema, *optional: str) -> Schema:
    """An object of an answer: these properties and no other, all there but the ``optional`` ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def form(properties: Schema, *required: str) -> Schema:
    """A multipart form."""
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": properties}


def request_object(properties: Schema, *required: str) -> Schema:
    """A JSON body; an unknown parameter may be null, which is the same as absent."""
    return {**form(properties, *required), "additionalProperties": {"type": "null"}}


def ignored(names: Iterable[str]) -> Schema:
    """Parameters that a deployment takes and passes over."""
    return {name: {"description": "Ignored."} for name in names}


def reference(name: str) -> Schema:
    """A schema of the document by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def json_content(schema: Schema) -> Schema:
    """A body or an answer of JSON."""
    return {"content": {"application/json": {"schema": schema}}}


def post(summary: str, body: Schema, answer: Schema, **more: Any) -> Schema:
    """A path that takes ``POST``; ``body`` and ``answer`` are content objects."""
    return {
        "post": {"summary": summary, **more, "requestBody": {"required": True, **body}, "responses": {"200": answer}}
    }


def get(summary: str, answer: Schema, **more: Any) -> Schema:
    """A path that takes ``GET``."""
    return {"get": {"summary": summary, **more, "responses": {"200": answer}}}
