"""A table of parameters: what an endpoint takes, and what it refuses or ignores."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from frontend.catalogue.extensions import CLIENT_PARAMETERS
from frontend.catalogue.models import Served
from frontend.errors import InvalidRequest
from frontend.parameters.kinds import Parameter, Schema

_LONGEST_NAME = 256  # characters


def check_name(name: str) -> None:
    """Raise 400 for a parameter name that an answer cannot repeat."""
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidRequest("a parameter's name is not valid Unicode") from None
    if size > _LONGEST_NAME:
        raise InvalidRequest("a parameter's name is too long")


def refuse_unknown(names: Collection[str], known: Collection[str]) -> None:
    """Raise 400 for the first unknown name."""
    for name in names:
        if name not in known:
            raise InvalidRequest(f"unknown parameter: {name}", param=name)


def without_spellings(names: Collection[str]) -> list[str]:
    """The names, for people: ``name[]`` and ``name[part]`` are left out if ``name`` is there."""
    return [name for name in names if "[" not in name or name.partition("[")[0] not in names]


class Table:
    """The parameters of an endpoint, in the order in which they are read and described.

    ``of_clients`` are those that popular clients send, and without which the answers are the same: with the extension,
    they are ignored. So is what the operator's aliases name.
    """

    def __init__(self, *parameters: Parameter, of_clients: Sequence[str] = ()) -> None:
        self._parameters, self._of_clients = parameters, of_clients
        self._by_name = {name: parameter for parameter in parameters for name in parameter.spellings}

    def taken(self, served: Served) -> list[Parameter]:
        """The parameters that mean something in a deployment."""
        return [each for each in self._parameters if not each.needs or each.needs in served.features]

    def names(self, served: Served) -> tuple[str, ...]:
        """The names of the parameters that mean something, in all spellings."""
        return tuple(name for parameter in self.taken(served) for name in parameter.spellings)

    def ignored(self, served: Served) -> tuple[str, ...]:
        """The parameters that are accepted and ignored."""
        of_clients = self._of_clients if CLIENT_PARAMETERS in served.extensions else ()
        own = self.names(served)
        return tuple(dict.fromkeys(name for name in (*served.aliases.ignore, *of_clients) if name not in own))

    def read(self, values: Mapping[str, Any], served: Served) -> dict[str, Any]:
        """The value of each parameter. Raises an ``ApiError`` for an unknown name or a wrong value."""
        taken = self.taken(served)
        if others := values.keys() - {name for parameter in taken for name in parameter.spellings}:
            self._ignore([name for name in values if name in others], values, served)
        return {parameter.name: parameter.read(values, served) for parameter in taken}

    def _ignore(self, names: Sequence[str], values: Mapping[str, Any], served: Served) -> None:
        """Raise 400 for what is not ignored."""
        refuse_unknown(names, self.ignored(served))
        for name in names:
            if name in self._by_name:
                self._by_name[name].ignore(values[name])

    def schema(self, served: Served) -> Schema:
        """The JSON Schema of a body or a form, with only these properties."""
        taken = self.taken(served)
        ignored = {name: {"description": "Accepted and ignored."} for name in without_spellings(self.ignored(served))}
        return {
            "type": "object",
            "additionalProperties": False,
            "required": [parameter.name for parameter in taken if parameter.required],
            "properties": {parameter.name: parameter.schema(served) for parameter in taken} | ignored,
        }
