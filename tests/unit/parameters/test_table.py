"""What an endpoint takes, ignores and refuses, and how a deployment changes it."""

from types import SimpleNamespace
from typing import Any

import pytest

from frontend.catalogue.aliases import Aliases
from frontend.catalogue.extensions import CLIENT_PARAMETERS, SUBTITLES
from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS, Served
from frontend.errors import InvalidRequest
from frontend.parameters import speech, transcription
from frontend.parameters.forms import File, FormTable, Several, Switch
from frontend.parameters.kinds import Choice, Text
from frontend.parameters.table import Table, check_name, refuse_unknown
from frontend.parameters.tables import TABLES


class _Silent(Choice):
    def ignore(self, value: Any) -> None:
        if value == "loud":
            raise self.refusal("must be soft")


TABLE = Table(
    Text("a", required=True),
    Text("b", needs=SUBTITLES),
    _Silent("c", names=("soft", "loud"), needs=SUBTITLES),
    of_clients=("c", "d", "d[e]"),
)
FORM = FormTable(
    File("file", largest=10), Text("a"), Several("s[]", names=("x", "y")), Switch("on"), of_clients=("user",)
)
FILE = SimpleNamespace(size=1)
PLAIN, SUBTITLED = Served.of(), Served.of(extensions=frozenset({SUBTITLES}))
CLIENTS = Served.of(extensions=frozenset({CLIENT_PARAMETERS}))


def _refused(values: dict[str, Any], served: Served) -> tuple[str, str | None]:
    with pytest.raises(InvalidRequest) as refused:
        TABLE.read(values, served)
    return refused.value.message, refused.value.param


def test_a_parameter_exists_only_with_its_extension() -> None:
    assert TABLE.read({"a": "1"}, PLAIN) == {"a": "1"}
    assert TABLE.read({"a": "1", "b": "2"}, SUBTITLED) == {"a": "1", "b": "2", "c": None}
    assert _refused({"a": "1", "b": "2"}, PLAIN) == ("unknown parameter: b", "b")
    assert [list(TABLE.schema(served)["properties"]) for served in (PLAIN, SUBTITLED)] == [["a"], ["a", "b", "c"]]


def test_parameters_of_clients_are_ignored_with_their_extension() -> None:
    assert _refused({"a": "1", "d": 2}, PLAIN) == ("unknown parameter: d", "d")
    assert TABLE.read({"a": "1", "d": 2, "d[e]": 3}, CLIENTS) == {"a": "1"}
    assert list(TABLE.schema(CLIENTS)["properties"]) == ["a", "c", "d"]


def test_what_the_operator_names_is_ignored() -> None:
    served = Served.of(aliases=Aliases(ignore=("z", "a")))
    assert TABLE.read({"a": "1", "z": None}, served) == {"a": "1"}
    assert TABLE.ignored(served) == ("z",)


def test_an_ignored_value_that_asks_for_what_is_missing_is_refused() -> None:
    assert TABLE.read({"a": "1", "c": "soft"}, CLIENTS) == {"a": "1"}
    assert _refused({"a": "1", "c": "loud"}, CLIENTS) == ("c must be soft", "c")


def test_a_required_parameter_is_named() -> None:
    assert _refused({}, PLAIN) == ("a must be a string that is not empty", "a")
    assert TABLE.schema(PLAIN)["required"] == ["a"]


@pytest.mark.parametrize("operation", TABLES)
def test_nothing_is_both_meant_and_ignored(operation: str) -> None:
    served = Served.of(
        extensions=frozenset({CLIENT_PARAMETERS, SUBTITLES}), aliases=Aliases(ignore=("stream", "model"))
    )
    table = TABLES[operation]
    assert not set(table.names(served)) & set(table.ignored(served))


@pytest.mark.parametrize(
    ("table", "required"),
    [
        (TABLES[TRANSCRIPTIONS], ["file"]),
        (TABLES[SPEECH], ["input"]),
        (TABLES[EMBEDDINGS], ["input"]),
        (TABLES[RERANK], ["query", "documents"]),
        (transcription.MOBILE, ["audio"]),
        (speech.MOBILE, ["text", "voice"]),
    ],
    ids=["transcriptions", "speech", "embeddings", "rerank", "mobile transcriptions", "mobile speech"],
)
def test_each_operation_needs_its_inputs_and_nothing_else(table: Table, required: list[str]) -> None:
    assert table.schema(PLAIN)["required"] == required


def test_the_fields_of_a_form_are_read() -> None:
    values = FORM.read_form([("a", "1"), ("s", "x"), ("s", "y"), ("on", "TRUE")], FILE, PLAIN)
    assert values == {"file": FILE, "a": "1", "s[]": ["x", "y"], "on": True}
    assert FORM.text_fields(PLAIN) == ("a", "s", "s[]", "on")


@pytest.mark.parametrize(
    ("texts", "file", "words"),
    [
        ([("a", "1"), ("a", "1")], FILE, "parameter given twice: a"),
        ([("s", "x"), ("s[]", "y")], FILE, r"s\[\] is given with and without brackets"),
        ([], None, "missing parameter: file"),
        ([], SimpleNamespace(size=0), "file is empty"),
        ([("user", "1")], FILE, "unknown parameter: user"),
    ],
)
def test_a_wrong_form_is_refused(texts: list[tuple[str, str]], file: Any, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        FORM.read_form(texts, file, PLAIN)


def test_an_ignored_field_may_be_given_twice() -> None:
    assert FORM.read_form([("user", "1"), ("user", "2")], FILE, CLIENTS)["file"] == FILE


def test_the_first_unknown_name_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="unknown parameter: b"):
        refuse_unknown(["a", "b", "c"], ("a",))


@pytest.mark.parametrize("name", ["n" * 256, "\u00fc" * 128])
def test_a_name_of_256_bytes_is_accepted(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["\ud800", "n" * 257, "\u00fc" * 129])
def test_a_name_that_is_too_long_or_no_unicode_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="a parameter's name"):
        check_name(name)
