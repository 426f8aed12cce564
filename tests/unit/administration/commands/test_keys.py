"""The commands ``keys`` and ``orgs``."""

import argparse
from collections.abc import Callable

import pytest

from frontend.access import api_key
from frontend.administration.commands.keys import limit, seconds
from frontend.commands.arguments import positive
from tests.unit.commands.conftest import Terminal


def test_a_key_is_listed_without_its_secret(terminal: Terminal) -> None:
    key = terminal.type("keys", "create", "--name", "search", "--tier", "pro", "--limit", "embeddings=5")[-1]
    (_, row) = terminal.type("keys", "list")
    assert key not in row
    assert row.split()[:5] == [api_key.prefix(key), "search", "pro", "-", "embeddings=5"]


def test_a_revoked_key_is_listed_as_revoked(terminal: Terminal) -> None:
    prefix = api_key.prefix(terminal.type("keys", "create")[-1])
    terminal.type("keys", "revoke", prefix)
    assert terminal.type("keys", "list")[-1].endswith("revoked")


@pytest.mark.parametrize("words", [("revoke",), ("rotate",), ("change", "--name", "search")])
def test_a_whole_key_names_itself_and_is_not_repeated(terminal: Terminal, words: tuple[str, ...]) -> None:
    key = terminal.type("keys", "create")[-1]
    lines = terminal.type("keys", words[0], key, *words[1:])
    assert key not in " ".join(lines)


@pytest.mark.parametrize("change", [lambda key: key, lambda key: key[:-1], lambda key: key + "x"])
def test_an_unknown_key_is_not_repeated(terminal: Terminal, change: Callable[[str], str]) -> None:
    named = change(api_key.new_key())
    (line,) = terminal.type("keys", "revoke", named, status=2)
    assert named not in line
    assert named[:11] in line


def test_another_key_with_the_same_prefix_is_not_revoked(terminal: Terminal) -> None:
    key = terminal.type("keys", "create")[-1]
    random = key[3:-6][:-1] + ("a" if key[-7] != "a" else "b")
    terminal.type("keys", "revoke", f"qk_{random}{api_key._checksum(random)}", status=2)
    assert terminal.type("keys", "list")[-1].endswith("active")


def test_rotate_creates_another_key(terminal: Terminal) -> None:
    old = terminal.type("keys", "create")[-1]
    new = terminal.type("keys", "rotate", api_key.prefix(old), "--overlap", "0s")[-1]
    assert api_key.well_formed(new)
    assert sorted(line.split()[-1] for line in terminal.type("keys", "list")[1:]) == ["active", "expired"]


def test_a_key_is_changed(terminal: Terminal) -> None:
    terminal.type("orgs", "create", "acme", "--limit", "600")
    prefix = api_key.prefix(terminal.type("keys", "create", "--limit", "speech=7")[-1])
    terminal.type(
        "keys", "change", prefix, "--tier", "company", "--org", "acme", "--no-limit", "speech", "--expires", "30d"
    )
    row = terminal.type("keys", "list")[-1].split()
    assert row[2:5] == ["company", "acme", "-"]
    assert row[-2] == "until"


def test_the_expiry_of_a_key_can_be_removed(terminal: Terminal) -> None:
    prefix = api_key.prefix(terminal.type("keys", "create", "--expires", "30d")[-1])
    terminal.type("keys", "change", prefix, "--no-expiry")
    assert terminal.type("keys", "list")[-1].split()[-1] == "active"


def test_organisations_are_listed(terminal: Terminal) -> None:
    terminal.type("orgs", "create", "acme")
    terminal.type("orgs", "change", "acme", "--limit", "600")
    assert terminal.type("orgs", "list")[-1].split() == ["acme", "600", "0"]


@pytest.mark.parametrize(
    "words",
    [
        ("keys", "revoke", "qk_nothing"),
        ("keys", "rotate", "qk_nothing"),
        ("keys", "create", "--org", "nobody"),
        ("orgs", "change", "nobody"),
        ("keys", "revoke", "\x1b[2J\0"),
        ("orgs", "change", "\udcff"),
        ("keys", "create", "--org", "a\0"),
        ("keys", "create", "--name", "a\x1b[2Jb"),
        ("keys", "create", "--name", ""),
        ("keys", "create", "--name", "a" * 129),
        ("orgs", "create", "a/b"),
        ("orgs", "create", "a\0b"),
        ("orgs", "create", "a\udcffb"),
        ("orgs", "create", ""),
    ],
)
def test_an_unknown_or_invalid_name_is_an_error_of_one_line(terminal: Terminal, words: tuple[str, ...]) -> None:
    (line,) = terminal.type(*words, status=2)
    assert line.isprintable()


_REFUSED: list[tuple[Callable[[str], object], list[str]]] = [
    (limit, ["", "5", "embeddings", "embeddings=", "embeddings=0", "embeddings=x", "other=5", f"embeddings={10**30}"]),
    (seconds, ["", "5", "d", "-5d", "1.5h", "5w", "36501d", f"{10**30}s", "\u0665d"]),
    (positive, ["", "0", "-1", "+1", "1e3", "1_000", "\u0665", str(10**30)]),
]


@pytest.mark.parametrize(("read", "text"), [(read, text) for read, texts in _REFUSED for text in texts])
def test_an_invalid_limit_duration_or_number_is_refused(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        read(text)


@pytest.mark.parametrize(("text", "number"), [("90s", 90), ("15m", 900), ("24h", 86_400), ("30d", 2_592_000)])
def test_a_duration_is_read(text: str, number: int) -> None:
    assert seconds(text) == number
