"""Unchecked settings from the settings file, the environment and files of secrets."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from frontend.config.fields import Fields

PREFIX = "QUARTET_"
CONFIG_FILE = f"{PREFIX}CONFIG"
FROM_FILE = "_FILE"
_VARIABLES = {f"{PREFIX}{item.name.upper()}": item.name for item in fields(Fields)} | {
    f"{PREFIX}{item.name.upper()}{FROM_FILE}": item.name for item in fields(Fields) if item.metadata["secret"]
}
# Variables that are no settings: the settings file, variables for clients in build/demo.env, and those that Kubernetes
# sets in every pod for each Service, whose name may begin with "quartet".
_NO_SETTING = re.compile(
    rf"{PREFIX}((CONFIG|URL|API_KEY|MOBILE_JWT|TRITON_HTTP|TRITON_METRICS|FACTS|PRECISION)=.*"
    r"|(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=.*"
    r"|(\w+_)?PORT=(tcp|udp|sctp)://.*)",
    re.DOTALL,
)


class SettingsError(ValueError):
    """Settings are missing, unknown or out of range; each line of the message names one."""


def refusal(faults: Iterable[tuple[str, str]], sources: Mapping[str, str]) -> SettingsError:
    """The error for these faults. Each names the variable that set the value."""
    return SettingsError("\n".join(f"{sources.get(setting, setting)}: {sentence}" for setting, sentence in faults))


def read(environ: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Values by setting, and the variable of each value that is not from the settings file.

    An empty variable counts as absent, because compose sets those that nobody has set. Unknown variables keep their
    names. Raises ``SettingsError`` if a file cannot be read.
    """
    values = _content(environ)
    sources: dict[str, str] = {}
    for variable, text in environ.items():
        if not text or not variable.startswith(PREFIX) or _NO_SETTING.fullmatch(f"{variable}={text}"):
            continue
        name = _VARIABLES.get(variable, variable)
        if name in sources:
            raise SettingsError(f"{variable}: {sources[name]} is set too")
        from_file = name != variable and variable.endswith(FROM_FILE)
        values[name] = _secret(variable, Path(text)) if from_file else text
        sources[name] = variable
    return values, sources


def table(environ: Mapping[str, str], name: str) -> Mapping[str, Any]:
    """A table of the settings file, whatever a variable of its name says; empty without one.

    Raises ``SettingsError`` if the file cannot be read.
    """
    found = _content(environ).get(name)
    return found if isinstance(found, dict) else {}


def _secret(variable: str, path: Path) -> str:
    try:
        secret = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SettingsError(f"{variable}: {path}: {reason}") from None
    if not secret:
        raise SettingsError(f"{variable}: {path}: is empty")
    return secret


def _content(environ: Mapping[str, str]) -> dict[str, Any]:
    """The tables of the settings file, and its other values as text, as a variable has them."""
    if not (path := environ.get(CONFIG_FILE)):
        return {}
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{CONFIG_FILE}: {path}: {error}") from None
    return {name: value if isinstance(value, dict | list) else str(value) for name, value in content.items()}
