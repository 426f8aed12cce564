"""compose.yaml as compose reads it: variables filled in, further files merged, and the variables of a container."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.conftest import ROOT

# The innermost variable, with what stands for it where it is absent.
_VARIABLE = re.compile(r"\$\{(\w+)(?:(:?[-?])([^{}]*))?\}")


def _value(found: re.Match[str], environ: Mapping[str, str]) -> str:
    name, sign, other = found.groups()
    value = environ.get(name)
    if value is None or (sign and sign.startswith(":") and not value):
        assert not sign or not sign.endswith("?"), f"{name}: {other}"
        return other or ""
    return value


def _filled(value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(each, environ) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, environ) for each in value]
    while isinstance(value, str) and _VARIABLE.search(value):
        value = _VARIABLE.sub(lambda found: _value(found, environ), value)
    return value


def _merged(base: Any, more: Any) -> Any:
    """Mappings are merged, ports are added, and other values are replaced."""
    if not isinstance(base, dict) or not isinstance(more, dict):
        return [*base, *more] if isinstance(base, list) and isinstance(more, list) else more
    return base | {name: _merged(base[name], each) if name in base else each for name, each in more.items()}


def services(environ: Mapping[str, str], *files: str) -> dict[str, Any]:
    """The services of compose.yaml and of further files, with the variables of ``.env``."""
    found: dict[str, Any] = {}
    for file in ("compose.yaml", *files):
        found = _merged(found, yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["services"])
    filled: dict[str, Any] = _filled(found, environ)
    return filled


def variables(service: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """What the process in a service's container gets: those of ``.env`` if it reads it, and its own, which win."""
    given = service.get("environment", {})
    if isinstance(given, list):
        pairs = (each.partition("=") for each in given)
        given = {name: value if sign else environ[name] for name, sign, value in pairs if sign or name in environ}
    return {**(environ if "env_file" in service else {}), **given}
