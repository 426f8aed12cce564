"""Kinds of parameters. Each reads its value out of a request, refuses others by name, and describes itself."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias, TypeVar

from frontend.catalogue.models import Served
from frontend.errors import ApiError, InvalidRequest

Schema = dict[str, Any]
_Value = TypeVar("_Value")
# For parameters that do not depend on what a deployment serves.
NOTHING = Served((), ())
# A value, or how it follows from what a deployment serves.
Known: TypeAlias = _Value | Callable[[Served], _Value]
# Characters of an unknown name that the error repeats.
_SHOWN = 64


def known(value: Known[_Value], served: Served) -> _Value:
    return value(served) if callable(value) else value


def one_of(names: Collection[str]) -> Schema:
    return {"type": "string", "enum": [*names]}


def _given(**values: Any) -> Schema:
    """What a schema says, without what is not said."""
    return {name: value for name, value in values.items() if value not in (None, "", [], math.inf)}


def check_unicode(text: str, name: str, path: str) -> None:
    """Raise 400 for a string without a UTF-8 form. ``path`` leads to it, such as ``input[2]``."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequest(f"{path} holds a lone surrogate", param=name) from None


@dataclass(frozen=True)
class Parameter:
    """A parameter, which exists only with the extension or the kind of model that it ``needs``, if any.

    Null and an empty string are the same as absent, which the schema omits: many client generators fail on it.
    """

    name: str
    description: Known[str] = ""
    _: KW_ONLY
    required: bool = False
    default: Known[Any] = None
    needs: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """All names by which a request may give it."""
        return (self.name,)

    def read(self, values: Mapping[str, Any], served: Served = NOTHING) -> Any:
        """The value out of ``values``, or the default. Raises an ``ApiError`` that names the parameter."""
        value = values.get(self.name)
        if value is not None and value != "":
            return self.check(value, served)
        if self.required:
            raise InvalidRequest(self.missing(served), param=self.name)
        return known(self.default, served)

    def missing(self, served: Served) -> str:
        """The message if a required one is absent."""
        return f"missing parameter: {self.name}"

    def check(self, value: Any, served: Served) -> Any:
        """What a given value means."""
        return value

    def ignore(self, value: Any) -> None:
        """Raise if a value, which a deployment without ``needs`` ignores, asks for something that it would miss."""

    def refusal(self, sentence: str) -> InvalidRequest:
        return InvalidRequest(f"{self.name} {sentence}", param=self.name)

    def schema(self, served: Served) -> Schema:
        """Its JSON Schema."""
        default, description = known(self.default, served), known(self.description, served)
        return self.values(served) | _given(default=default, description=description)

    def values(self, served: Served) -> Schema:
        """The JSON Schema of its values."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Text(Parameter):
    """A string without lone surrogates. ``too_long`` is the error of one with more characters than ``longest``."""

    longest: float = math.inf
    too_long: type[ApiError] = InvalidRequest
    examples: Known[Collection[str]] = ()

    def missing(self, served: Served) -> str:
        return f"{self.name} must be a string that is not empty"

    def check(self, value: Any, served: Served) -> Any:
        if not isinstance(value, str):
            raise self.refusal("must be a string")
        check_unicode(value, self.name, self.name)
        if len(value) > self.longest:
            raise self.too_long(f"{self.name} is longer than {self.longest} characters", param=self.name)
        return value

    def values(self, served: Served) -> Schema:
        shortest, examples = 1 if self.required else None, [*known(self.examples, served)]
        return {"type": "string", **_given(minLength=shortest, maxLength=self.longest, examples=examples)}


@dataclass(frozen=True, kw_only=True)
class Choice(Text):
    """One of ``names``."""

    names: Known[Collection[str]]

    def check(self, value: Any, served: Served) -> Any:
        if super().check(value, served) not in (names := known(self.names, served)):
            raise self.refusal(f"must be one of {', '.join(names)}")
        return value

    def values(self, served: Served) -> Schema:
        return one_of(known(self.names, served))


@dataclass(frozen=True, kw_only=True)
class Choices(Parameter):
    """An array of some of ``names``, which is read in their order; repeats count once."""

    names: tuple[str, ...]

    def check(self, value: Any, served: Served) -> tuple[str, ...]:
        if not isinstance(value, list) or not value:
            raise self.refusal(f"must be an array of one or more of {', '.join(self.names)}")
        if any(not isinstance(item, str) or item not in self.names for item in value):
            raise self.refusal(f"may have {', '.join(self.names)}, and nothing else")
        return tuple(name for name in self.names if name in value)

    def values(self, served: Served) -> Schema:
        return {"type": "array", "minItems": 1, "items": one_of(self.names)}


@dataclass(frozen=True, kw_only=True)
class Name(Text):
    """A name of something served, which it stands for. The error of another lists them behind ``listed``."""

    named: Callable[[Served], Mapping[str, str]]
    listed: str
    code: str | None = None

    def missing(self, served: Served) -> str:
        return f"missing parameter: {self.name}; {self.listed} {', '.join(self.named(served))}"

    def check(self, value: Any, served: Served) -> Any:
        names = self.named(served)
        if super().check(value, served) not in names:
            message = f"unknown {self.name}: {value[:_SHOWN]}; {self.listed} {', '.join(names)}"
            raise InvalidRequest(message, param=self.name, code=self.code)
        return names[value]

    def values(self, served: Served) -> Schema:
        return one_of(self.named(served))


@dataclass(frozen=True, kw_only=True)
class ModelName(Name):
    """A model's name. If absent, it is the first one."""

    name: str = "model"
    listed: str = "this endpoint has"
    code: str | None = "model_not_found"

    def read(self, values: Mapping[str, Any], served: Served = NOTHING) -> Any:
        return super().read(values, served) or next(iter(self.named(served).values()))


@dataclass(frozen=True, kw_only=True)
class Integer(Parameter):
    """A whole number from ``least`` to ``most``."""

    least: int = 1
    most: float = math.inf

    def check(self, value: Any, served: Served) -> int:
        # In Python, JSON's true is an int.
        if not isinstance(value, int) or isinstance(value, bool) or not self.least <= value <= self.most:
            bounded = f"an integer from {self.least} to {self.most}"
            raise self.refusal(f"must be {'a positive integer' if self.most == math.inf else bounded}")
        return value

    def values(self, served: Served) -> Schema:
        return {"type": "integer", "minimum": self.least, **_given(maximum=self.most)}


@dataclass(frozen=True, kw_only=True)
class Number(Parameter):
    """A number from ``least`` to ``most``."""

    least: float
    most: float

    def check(self, value: Any, served: Served) -> float:
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
        if not self.least <= number <= self.most:
            raise self.refusal(f"must be a number from {self.least} to {self.most}")
        return number

    def values(self, served: Served) -> Schema:
        return {"type": "number", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, kw_only=True)
class Boolean(Parameter):
    """True or false."""

    def check(self, value: Any, served: Served) -> bool:
        if not isinstance(value, bool):
            raise self.refusal("must be true or false")
        return value

    def values(self, served: Served) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True, kw_only=True)
class Texts(Parameter):
    """An array of 1 to ``most`` strings, or one string if that counts as an array. Errors name the index."""

    most: Known[int]
    empty_allowed: bool = False
    or_one: bool = False
    required: bool = True

    def read(self, values: Mapping[str, Any], served: Served = NOTHING) -> Any:
        value = values.get(self.name)
        if value is None:
            raise InvalidRequest(self.missing(served), param=self.name)
        return self.check([value] if self.or_one and isinstance(value, str) else value, served)

    def check(self, value: Any, served: Served) -> list[str]:
        if not isinstance(value, list):
            raise self.refusal(f"must be {'a string or ' if self.or_one else ''}an array of strings")
        if not value:
            raise self.refusal("must not be an empty array")
        self.check_number(len(value), served)
        for index, item in enumerate(value):
            path = f"{self.name}[{index}]"
            if not isinstance(item, str):
                raise InvalidRequest(f"{path} must be a string", param=self.name)
            if not item and not self.empty_allowed:
                raise InvalidRequest(f"{path} is empty", param=self.name)
            check_unicode(item, self.name, path)
        return value

    def check_number(self, number: int, served: Served) -> None:
        """Raise 400 for more than ``most``."""
        if number > (most := known(self.most, served)):
            message = f"too many {self.name.removesuffix('s')}s: {number}, at most {most}"
            raise InvalidRequest(message, param=self.name)

    def items(self, served: Served) -> Schema:
        """The JSON Schema of an item."""
        return {"type": "string"} if self.empty_allowed else {"type": "string", "minLength": 1}

    def values(self, served: Served) -> Schema:
        array = {"minItems": 1, "maxItems": known(self.most, served), "items": self.items(served)}
        if not self.or_one:
            return {"type": "array", **array}
        # Without a type and alternatives: generated Java does not compile with them.
        return {"minLength": 1, **array, "not": {"type": ["boolean", "null", "number", "object"]}}
