"""Rules for names of keys and organisations, and the errors of the registry."""

import re

from frontend.errors import InvalidRequest

LONGEST_NAME, LONGEST_ORG = 128, 64
_ORG = re.compile(r"(?! )[^/]{1,64}(?<! )")


class RegistryError(InvalidRequest, ValueError):
    """A request does not fit the stored data; ``param`` is its faulty parameter."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message, param=param)


class MissingError(RegistryError):
    """A key, organisation or row does not exist."""

    status = 404


def check_name(subject: str, name: str, longest: int, param: str | None = None) -> str:
    """Return the name. Raises ``RegistryError`` if it is empty, too long or not printable."""
    if not 0 < len(name) <= longest or not name.isprintable():
        raise RegistryError(f"{subject} must have 1 to {longest} printable characters", param)
    return name


def check_org(name: str) -> str:
    """Return the name. Raises ``RegistryError`` if an organisation cannot have it."""
    if not _ORG.fullmatch(name) or not name.isprintable():
        raise RegistryError(
            "the name of an organisation has 1 to 64 printable characters, no slash, and no blanks around it", "name"
        )
    return name
