"""Names that a deployment accepts in addition to the contract, for apps that know only OpenAI's."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Aliases:
    """Other names of ``models`` and ``voices``, parameters to ``ignore``, the audio format of who names none.

    All of it holds for the developer endpoints; with nothing set, it is false and the contract holds to the letter.
    """

    models: Mapping[str, str] = field(default_factory=dict)
    voices: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    speech_format: str = ""

    def __bool__(self) -> bool:
        return self != Aliases()
