"""Which values must not be in a report, and how a text is rid of them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from frontend.config.fields import Fields
from frontend.config.reading import FROM_FILE, PREFIX
from frontend.config.settings import Settings
from frontend.observe.hiding import HIDDEN, without_credentials

SECRET = frozenset(item.name for item in fields(Fields) if item.metadata["secret"])
# Of a name that is no setting, the value may be a secret under a misspelt name.
SHOWN = frozenset(item.name for item in fields(Settings) if item.name not in (*SECRET, "added"))
# The kind of a database says much, and its address says too much.
_KINDS = ("postgresql", "postgres", "redis", "rediss", "sqlite")
# Shorter values are parts of other words.
_SHORTEST = 4
_WORD = re.compile(r"[^\s\"']+")
_SCHEME, _ADDRESS = re.compile(r"\w+://"), re.compile(r"\w://")


def hidden(address: str) -> str:
    """A secret value, of which only the kind of a known service is left."""
    kind, colon, _ = address.partition("://")
    return f"{kind}://{HIDDEN}" if colon and kind in _KINDS else HIDDEN


def secrets_in(environ: Mapping[str, str]) -> dict[str, str]:
    """The secret settings of variables and of the files that they name, without those that cannot be read."""
    found = {name: environ.get(f"{PREFIX}{name.upper()}", "") for name in SECRET}
    for name in SECRET:
        with suppress(OSError, ValueError):
            file = environ.get(f"{PREFIX}{name.upper()}{FROM_FILE}", "")
            found[name] = found[name] or Path(file).read_text(encoding="utf-8-sig").strip()
    return found


def secrets_of(values: Mapping[str, Any]) -> list[str]:
    """Every text that must not be shown, from settings as they were read; the longest first."""
    whole = [str(value) for name, value in values.items() if name not in SHOWN]
    found = {each for value in whole for each in (value, *_of_address(value))}
    # Lines of a log have the forms of Python and of JSON, in which quotes and backslashes differ.
    plain = {form for each in found for form in (each, unquote(each))}
    written = plain | {repr(each)[1:-1] for each in plain}
    forms = written | {json.dumps(each)[1:-1] for each in written}
    return sorted((form for form in forms if len(form) >= _SHORTEST), key=len, reverse=True)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return without_credentials(_WORD.sub(_without_user_and_query, text))


def _without_user_and_query(found: re.Match[str]) -> str:
    """A word in which what stands before the last @ may be a user and a password, and a query may have a token."""
    before, at, word = found[0].rpartition("@")
    if at:
        scheme = _SCHEME.match(before)
        word = f"{scheme[0] if scheme else ''}{HIDDEN}@{word}"
    address = _ADDRESS.search(word)
    query = word.find("?", address.end()) + 1 if address else 0
    return word[:query] + HIDDEN if 0 < query < len(word) else word


def _of_address(value: str) -> Iterator[str]:
    """The password and the values after the question mark, if it is an address."""
    try:
        parts = urlsplit(value)
    except ValueError:
        return
    if parts.scheme and parts.netloc:
        yield from filter(None, (parts.password, *(each for _, each in parse_qsl(parts.query))))
