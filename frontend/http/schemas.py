"""The operations' fragments of the OpenAPI document.

Answers are typed dictionaries or data classes. ``Annotated`` adds JSON Schema to a field, or a function that makes it
of what a deployment serves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from frontend.catalogue.models import Served
from frontend.parameters.forms import FormTable
from frontend.parameters.kinds import Schema, one_of
from frontend.parameters.table import Table

_JSON = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


@dataclass(frozen=True)
class When:
    """Marks a field that answers of some deployments have."""

    holds: Callable[[Served], bool]


@dataclass(frozen=True)
class Optional:
    """Marks a field that answers of some deployments may lack."""

    holds: Callable[[Served], bool]


def needs(extension: str) -> When:
    return When(lambda served: extension in served.extensions)


def optional_with(extension: str) -> Optional:
    return Optional(lambda served: extension in served.extensions)


def json_content(schema: Schema, example: Schema | None = None) -> Schema:
    """A body or an answer of JSON."""
    return {"content": {"application/json": {"schema": schema} | ({} if example is None else {"example": example})}}


@dataclass(frozen=True)
class OpenApiFragment:
    """The paths of an operation, and the schemas that they refer to."""

    served: Served
    paths: Schema = field(default_factory=dict)
    schemas: Schema = field(default_factory=dict)
    # Other content types of the answers of paths that may be in other fragments.
    more: dict[str, Schema] = field(default_factory=dict)

    def post(self, path: str, name: str, summary: str, body: Schema, answer: Schema, **more: Any) -> None:
        """Add a path. ``name`` is its name in clients; ``body`` and ``answer`` are content objects."""
        request = {"requestBody": {"required": True, **body}, "responses": {"200": answer}}
        self.paths[path] = {"post": {"operationId": name, "summary": summary, **more, **request}}

    def get(self, path: str, name: str, summary: str, answer: Schema, **more: Any) -> None:
        self.paths[path] = {"get": {"operationId": name, "summary": summary, **more, "responses": {"200": answer}}}

    def takes(self, table: Table, example: Schema | None = None) -> Schema:
        """The content object of a table: a form, or JSON."""
        if isinstance(table, FormTable):
            return {"content": {"multipart/form-data": {"schema": table.schema(self.served)}}}
        return json_content(table.schema(self.served), example)

    def answers(self, kind: Any) -> Schema:
        """The content object of an answer of JSON."""
        return json_content(self.named(kind))

    def named(self, kind: Any) -> Schema:
        """The schema of a type. Objects are in the document by their names, unless they are a part of another one."""
        if not _is_object(kind):
            return self.described(kind)
        if kind.__name__ not in self.schemas:
            # Takes its place in the document before those that it refers to.
            self.schemas[kind.__name__] = {}
            self.schemas[kind.__name__] = self.described(kind)
        return {"$ref": f"#/components/schemas/{kind.__name__}"}

    def described(self, kind: Any) -> Schema:
        """The schema of a type, in place."""
        origin, inner = get_origin(kind), get_args(kind)
        if _is_object(kind):
            return self._object(kind)
        if origin is Literal:
            return one_of(inner)
        if origin in (list, Sequence):
            return {"type": "array", "items": self.named(inner[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self._field(inner[1])}
        if origin is UnionType:
            return {"type": [_JSON[each] for each in inner]}
        return {} if kind is Any else {"type": _JSON[kind]}

    def _object(self, kind: Any) -> Schema:
        """An object with only these properties."""
        properties, required = {}, []
        for name, hint in get_type_hints(kind, include_extras=True).items():
            optional = get_origin(hint) is NotRequired
            annotated = get_args(hint)[0] if optional else hint
            added = _added(annotated)
            optional |= any(each.holds(self.served) for each in added if isinstance(each, Optional))
            if all(each.holds(self.served) for each in added if isinstance(each, When)):
                properties[name] = self._field(annotated)
                required += [] if optional else [name]
        return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}

    def _field(self, annotated: Any) -> Schema:
        schema = self.described(get_args(annotated)[0] if _added(annotated) else annotated)
        for each in _added(annotated):
            if not isinstance(each, When | Optional):
                schema |= each(self.served) if callable(each) else each
        return schema


def _added(annotated: Any) -> tuple[Any, ...]:
    """What an annotation adds to its type."""
    return get_args(annotated)[1:] if get_origin(annotated) is Annotated else ()


def _is_object(kind: Any) -> bool:
    return is_typeddict(kind) or is_dataclass(kind)
