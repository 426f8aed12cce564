"""What a server of models is to those who call it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from numpy.typing import NDArray

from frontend.tritons.reloads import Reloadable

Inputs = Mapping[str, NDArray[Any]]
Outputs = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Capacity:
    """What the configuration of a model says: its instances, and how many calls one of their batches takes.

    ``gpu`` says that it does not share the machine's processors with other models; ``stops`` that it leaves off soon
    where a call is cancelled, and does not compute it to its end.
    """

    instances: int = 1
    max_batch: int = 1
    gpu: bool = False
    stops: bool = False


@dataclass(frozen=True)
class Trial:
    """A small call whose answer shows whether a model's numbers are right on the machine that it runs on."""

    inputs: Inputs
    outputs: Sequence[str]


class State(StrEnum):
    """What can be said of a model."""

    READY = "ready"
    LOADING = "loading"
    UNFIT = "unfit"
    AWAY = "away"


class InferenceServer(Reloadable, Protocol):
    """A server that answers calls and probes; it raises ``BadGateway`` and its kinds."""

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        """The named outputs of one run."""

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        """Those of ``models`` that can take calls; ``Unreached`` where nobody listens."""

    async def capacity(self, model: str) -> Capacity:
        """What it takes of a model at once."""

    async def try_out(self, model: str, trial: Trial) -> None:
        """``BadAnswer`` where the numbers of a model are wrong."""

    async def close(self) -> None:
        """End what is under way."""
