"""Reads what the settings' file, the environment and files of secrets say; a bad value is refused by its name."""

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from frontend.config.tables import SettingsError, tables_of

PREFIX = "QUARTET_"
CONFIG_FILE = f"{PREFIX}CONFIG"
# The file is read first; and what build/demo.env holds for clients may stand in the same environment.
_CLIENTS = ("URL", "API_KEY", "MOBILE_JWT", "TRITON_HTTP", "TRITON_METRICS", "FACTS", "PRECISION")
_NO_SETTINGS = (CONFIG_FILE, *(f"{PREFIX}{name}" for name in _CLIENTS))
FROM_FILE = "_FILE"
# What Kubernetes puts into every pod for each Service, by the Service's name, which may well begin with "quartet".
_OF_A_SERVICE = re.compile(rf"{PREFIX}(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)")
_ADDRESS_OF_A_SERVICE = re.compile(r"(tcp|udp|sctp)://")

Fields = Mapping[str, "dataclasses.Field[Any]"]


def read(environ: Mapping[str, str], fields: Fields) -> dict[str, Any]:
    """Values by field, the environment's before the file's; ``SettingsError`` names the first bad one."""
    values = _of_file(Path(path), fields) if (path := environ.get(CONFIG_FILE)) else {}
    own = _own(environ)
    for name, text in own.items():
        item = fields.get(_field_name(name, fields))
        if item is None or not item.metadata or name != name.upper():
            raise SettingsError(f"{name}: there is no such setting")
        if name != f"{PREFIX}{item.name.upper()}":
            if name.removesuffix(FROM_FILE) in own:
                raise SettingsError(f"{name}: {name.removesuffix(FROM_FILE)} is set too")
            text = _secret(name, Path(text))
        values[item.name] = _parse(name, text, item)
    return values


def names_set(environ: Mapping[str, str], fields: Fields) -> set[str]:
    """The fields that the file or the environment say something about, right or wrong."""
    names = {_field_name(name, fields) for name in _own(environ)}
    return names | _content(Path(path)).keys() if (path := environ.get(CONFIG_FILE)) else names


def _own(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that are settings, without what is there for clients, or from Kubernetes about a Service."""
    return {
        name: text
        for name, text in environ.items()
        if name.startswith(PREFIX)
        and name not in _NO_SETTINGS
        and not _OF_A_SERVICE.fullmatch(name)
        and not (name.endswith("_PORT") and _ADDRESS_OF_A_SERVICE.match(text))
    }


def _field_name(name: str, fields: Fields) -> str:
    """The field that a variable sets, itself or by the file of a secret."""
    own = name.removeprefix(PREFIX).lower()
    item = fields.get(own.removesuffix(FROM_FILE.lower()))
    return item.name if item is not None and item.metadata.get("secret") else own


def _secret(name: str, path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SettingsError(f"{name}: {path}: {reason}") from None
    if not (secret := text.strip()):
        raise SettingsError(f"{name}: {path}: is empty")
    return secret


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{CONFIG_FILE}: {path}: {error}") from None


def _of_file(path: Path, fields: Fields) -> dict[str, Any]:
    content = _content(path)
    values = tables_of(content)
    for name, value in content.items():
        if name not in fields or isinstance(value, dict | list):
            raise SettingsError(f"{name}: there is no such setting")
        values[name] = _parse(name, str(value), fields[name])
    return values


def _parse(name: str, text: str, item: "dataclasses.Field[Any]") -> Any:
    kind: type[Any] = item.type if isinstance(item.type, type) else str
    try:
        value = kind(text)
    except ValueError:
        raise SettingsError(f"{name}: {text!r} is not a {kind.__name__}") from None
    least, most, choices = item.metadata["least"], item.metadata["most"], item.metadata["choices"]
    # A NaN compares false with everything, so the test asks for what is allowed.
    if isinstance(value, int | float) and not least <= value <= most:
        raise SettingsError(f"{name}: {text} is not between {least:g} and {most:g}")
    if choices and value not in choices:
        raise SettingsError(f"{name}: must be one of {', '.join(choices)}")
    return value
