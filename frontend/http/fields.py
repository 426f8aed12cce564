"""Checks of request parameters, shared by all protocols. Each error names its parameter."""

import math
from collections.abc import Collection, Mapping
from typing import Any

from frontend.errors import InvalidRequest

_LONGEST_NAME = 256  # characters
# TEI's parameters for long texts, and where they may be cut. TEI writes the names in both ways.
CUTTING = ("truncate", "truncation_direction")
DIRECTIONS = ("right", "Right")


def check_name(name: str) -> None:
    """Raise 400 for a parameter name that an answer cannot repeat."""
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidRequest("a parameter's name is not valid Unicode") from None
    if size > _LONGEST_NAME:
        raise InvalidRequest("a parameter's name is too long")


def refuse_unknown(names: Collection[str], *known: Collection[str]) -> None:
    """Raise 400 for the first unknown name."""
    for name in names:
        if not any(name in table for table in known):
            raise InvalidRequest(f"unknown parameter: {name}", param=name)


def text(values: Mapping[str, Any], name: str) -> str | None:
    """A string without lone surrogates. Empty is the same as absent."""
    value = values.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} must be a string", param=name)
    return checked_text(value, name)


def checked_text(value: str, name: str, place: str | None = None) -> str:
    """Return the string; raise 400 if it has no UTF-8 form. ``place`` names the position within the parameter."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequest(f"{place or name} holds a lone surrogate", param=name) from None
    return value


def choice(values: Mapping[str, Any], name: str, allowed: Collection[str], default: str) -> str:
    """A value out of ``allowed``; the default if absent."""
    value = text(values, name)
    if value is None:
        return default
    if value not in allowed:
        raise InvalidRequest(f"{name} must be one of {', '.join(allowed)}", param=name)
    return value


def model(values: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """The model of a name in the endpoint's ``names``; the first if absent."""
    value = text(values, "model")
    if value is None:
        return next(iter(names.values()))
    if value not in names:
        message = f"unknown model: {value[:64]}; this endpoint has {', '.join(names)}"
        raise InvalidRequest(message, param="model", code="model_not_found")
    return names[value]


def positive_integer(values: Mapping[str, Any], name: str) -> int | None:
    """A whole number from 1; None if absent."""
    return _integer(values, name, 1, math.inf, "a positive integer")


def integer_between(values: Mapping[str, Any], name: str, least: int, most: int) -> int | None:
    """A whole number from ``least`` to ``most``; None if absent."""
    return _integer(values, name, least, most, f"an integer from {least} to {most}")


def _integer(values: Mapping[str, Any], name: str, least: int, most: float, expected: str) -> int | None:
    value = values.get(name)
    if value is None or value == "":
        return None
    # In Python, JSON's true is an int.
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidRequest(f"{name} must be {expected}", param=name)
    return value


def boolean(values: Mapping[str, Any], name: str) -> bool:
    """A JSON boolean; false if absent."""
    value = values.get(name)
    if value is None or value == "":
        return False
    if not isinstance(value, bool):
        raise InvalidRequest(f"{name} must be true or false", param=name)
    return value


def cuts(values: Mapping[str, Any]) -> bool:
    """Whether long texts are cut: as by a TEI with --auto-truncate, unless the request says no."""
    choice(values, "truncation_direction", DIRECTIONS, DIRECTIONS[0])
    boolean(values, "truncate")
    return values.get("truncate") is not False


def strings(values: Mapping[str, Any], name: str, most: int, *, empty_allowed: bool, or_one: bool = False) -> list[str]:
    """An array of 1 to ``most`` strings.

    Errors name the index. With ``or_one``, a single string counts as an array of one.
    """
    value = values.get(name)
    if value is None:
        raise InvalidRequest(f"missing parameter: {name}", param=name)
    if or_one and isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise InvalidRequest(f"{name} must be {'a string or ' if or_one else ''}an array of strings", param=name)
    if not value:
        raise InvalidRequest(f"{name} must not be an empty array", param=name)
    if len(value) > most:
        raise InvalidRequest(f"too many {name.removesuffix('s')}s: {len(value)}, at most {most}", param=name)
    for index, item in enumerate(value):
        place = f"{name}[{index}]"
        if not isinstance(item, str):
            raise InvalidRequest(f"{place} must be a string", param=name)
        if not item and not empty_allowed:
            raise InvalidRequest(f"{place} is empty", param=name)
        checked_text(item, name, place)
    return value
