"""Names that a deployment accepts in addition to the contract, for apps that know only OpenAI's."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Aliases:
    """Other names of ``models`` and ``voices``, parameters to ``ignore``, and the default audio format.

    They apply to the developer endpoints. It is false if nothing is set.
    """

    models: Mapping[str, str] = field(default_factory=dict)
    voices: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    speech_format: str = ""

    def __bool__(self) -> bool:
        return self != Aliases()
