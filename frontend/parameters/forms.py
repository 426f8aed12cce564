"""Fields of multipart forms, whose values are texts, and tables of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from frontend.catalogue.models import Served
from frontend.errors import InvalidRequest
from frontend.parameters.kinds import NOTHING, Number, Parameter, Schema, one_of
from frontend.parameters.table import Table

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
# Possessive quantifiers: backtracking would take time with the square of a field's length.
_DECIMAL = re.compile(r"\s*+[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?\s*+", re.ASCII)


class Sized(Protocol):
    """A file part that has arrived."""

    @property
    def size(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class File(Parameter):
    """The file of a form, of at most ``largest`` bytes, which are counted while it arrives."""

    largest: int
    required: bool = True

    def check(self, value: Sized, served: Served) -> Sized:
        if not value.size:
            raise self.refusal("is empty")
        return value

    def values(self, served: Served) -> Schema:
        return {"type": "string", "format": "binary"}


@dataclass(frozen=True, kw_only=True)
class Decimal(Number):
    """A finite decimal number."""

    def check(self, value: Any, served: Served) -> float:
        return super().check(float(value) if _DECIMAL.fullmatch(value) else None, served)


@dataclass(frozen=True, kw_only=True)
class Switch(Parameter):
    """True or false."""

    default: bool = False

    def check(self, value: str, served: Served) -> bool:
        if (lower := value.lower()) not in _BOOLEANS:
            raise self.refusal("must be true or false")
        return _BOOLEANS[lower]

    def values(self, served: Served) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True, kw_only=True)
class Repeated(Parameter):
    """Any number of values. Brackets at the end of its name may be left out."""

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.name.removesuffix("[]"), self.name)

    def read(self, values: Mapping[str, Any], served: Served = NOTHING) -> list[str]:
        given = [values[name] for name in self.spellings if name in values]
        if len(given) > 1:
            raise self.refusal("is given with and without brackets")
        return self.check([value for values in given for value in values if value], served)

    def check(self, value: list[str], served: Served) -> list[str]:
        return value


@dataclass(frozen=True, kw_only=True)
class Several(Repeated):
    """Any number of ``names``."""

    names: tuple[str, ...]

    def check(self, value: list[str], served: Served) -> list[str]:
        if any(each not in self.names for each in value):
            raise self.refusal(f"must be {' or '.join(self.names)}")
        return value

    def values(self, served: Served) -> Schema:
        return {"type": "array", "items": one_of(self.names)}


class FormTable(Table):
    """The fields of a form."""

    def __init__(self, file: File, *fields: Parameter, of_clients: Sequence[str] = ()) -> None:
        super().__init__(file, *fields, of_clients=of_clients)
        self.file = file

    def text_fields(self, served: Served) -> tuple[str, ...]:
        """The names of all fields but the file, including ignored ones."""
        names = [name for name in self.names(served) if name != self.file.name]
        return (*names, *self.ignored(served))

    def read_form(self, texts: Sequence[tuple[str, str]], file: Sized | None, served: Served) -> dict[str, Any]:
        """The value of each field of a form."""
        values: dict[str, Any] = {self.file.name: file}
        ignored = self.ignored(served)
        for name, text in texts:
            if name in ignored:
                self._ignore([name], {name: text}, served)
            elif isinstance(self._by_name.get(name), Repeated):
                values.setdefault(name, []).append(text)
            elif name in values:
                raise InvalidRequest(f"parameter given twice: {name}", param=name)
            else:
                values[name] = text
        return self.read(values, served)
