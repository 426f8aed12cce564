from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from frontend.catalogue.extensions import SUBTITLES
from frontend.catalogue.models import Served
from frontend.http.schemas import OpenApiFragment, needs, optional_with
from frontend.parameters import embeddings, transcription
from frontend.parameters.table import Table


@dataclass(frozen=True)
class Item:
    number: Annotated[int, {"minimum": 0}]
    anything: Any


class Part(TypedDict):
    kind: Literal["part"]
    text: str | None


class Answer(TypedDict):
    items: list[Item]
    part: Part
    by_name: dict[str, float]
    late: NotRequired[bool]
    cues: Annotated[str, needs(SUBTITLES)]
    model: Annotated[str, lambda served: {"enum": list(served.ids())}]


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def test_an_answer_gives_its_schema() -> None:
    own = OpenApiFragment(Served.of("embed-m3"))
    assert own.named(Answer) == {"$ref": "#/components/schemas/Answer"}
    assert own.schemas == {
        "Answer": _object(
            ["items", "part", "by_name", "model"],
            items={"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
            part=_object(
                ["kind", "text"], kind={"type": "string", "enum": ["part"]}, text={"type": ["string", "null"]}
            ),
            by_name={"type": "object", "additionalProperties": {"type": "number"}},
            late={"type": "boolean"},
            model={"type": "string", "enum": ["embed-m3"]},
        ),
        "Item": _object(["number", "anything"], number={"type": "integer", "minimum": 0}, anything={}),
    }


class _Vector(TypedDict):
    embedding: Annotated[Any, optional_with(SUBTITLES), {"minItems": 1}]


@pytest.mark.parametrize(("extensions", "required"), [(frozenset[str](), ["embedding"]), (frozenset({SUBTITLES}), [])])
def test_a_field_that_an_extension_may_leave_out_is_required_without_it(
    extensions: frozenset[str], required: list[str]
) -> None:
    own = OpenApiFragment(Served.of(extensions=extensions))
    assert own.described(_Vector) == _object(required, embedding={"minItems": 1})


def test_a_field_of_an_extension_is_described_if_it_is_on() -> None:
    own = OpenApiFragment(Served.of(extensions=frozenset({SUBTITLES})))
    assert own.described(Answer)["properties"]["cues"] == {"type": "string"}
    assert "cues" in own.described(Answer)["required"]


@pytest.mark.parametrize(
    ("table", "kind"), [(embeddings.PARAMETERS, "application/json"), (transcription.PARAMETERS, "multipart/form-data")]
)
def test_a_table_is_json_or_a_form(table: Table, kind: str) -> None:
    assert list(OpenApiFragment(Served.of()).takes(table)["content"]) == [kind]


def test_a_path_that_takes_a_body_needs_it() -> None:
    own = OpenApiFragment(Served.of())
    own.post("/a", "createA", "Make an A", {"content": {}}, {"description": "An A."}, tags=["a"])
    own.get("/b", "listB", "List Bs", {"description": "Bs."})
    assert own.paths == {
        "/a": {
            "post": {
                "operationId": "createA",
                "summary": "Make an A",
                "tags": ["a"],
                "requestBody": {"required": True, "content": {}},
                "responses": {"200": {"description": "An A."}},
            }
        },
        "/b": {"get": {"operationId": "listB", "summary": "List Bs", "responses": {"200": {"description": "Bs."}}}},
    }


def test_an_answer_may_be_no_object() -> None:
    own = OpenApiFragment(Served.of())
    assert own.named(list[list[float]]) == {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
    assert own.schemas == {}
