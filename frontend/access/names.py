"""What keys, organisations and references may be called, and what is said where something does not fit."""

import re

LONGEST_NAME, LONGEST_ORG = 128, 64
_ORG = re.compile(r"(?! )[^/]{1,64}(?<! )")


class RegistryError(ValueError):
    """What was asked for does not fit what is stored; the message says what, ``param`` which parameter it is."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class MissingError(RegistryError):
    """There is no such thing."""


def check_name(what: str, name: str, longest: int, param: str | None = None) -> str:
    """The name itself; ``RegistryError`` for what cannot be stored, or be shown without harm."""
    if not 0 < len(name) <= longest or not name.isprintable():
        raise RegistryError(f"{what} must have 1 to {longest} printable characters", param)
    return name


def check_org(name: str) -> str:
    """The name itself; ``RegistryError`` for what no organisation can be called."""
    if not _ORG.fullmatch(name) or not name.isprintable():
        raise RegistryError(
            "the name of an organisation has 1 to 64 printable characters, no slash, and no blanks around it", "name"
        )
    return name
