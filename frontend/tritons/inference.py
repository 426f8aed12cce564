"""The interface of an inference server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from numpy.typing import NDArray

Inputs = Mapping[str, NDArray[Any]]
Outputs = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Capacity:
    """The capacity of a backend for a model: instances, and the most calls of a batch.

    ``gpu``: it does not share processors with other models. ``stops``: it stops soon if a call is cancelled. ``delay``:
    for so many seconds a call waits for others to join its batch.
    """

    instances: int = 1
    max_batch: int = 1
    gpu: bool = False
    stops: bool = False
    delay: float = 0.0


@dataclass(frozen=True)
class Trial:
    """A small call that shows whether a model computes correctly on its machine."""

    inputs: Inputs
    outputs: Sequence[str]


class State(StrEnum):
    """The state of a model, best first."""

    READY = "ready"
    LOADING = "loading"
    UNFIT = "unfit"
    AWAY = "away"


class InferenceServer(Protocol):
    """A server that answers calls and probes. Raises ``Unreached`` if it is away, ``BadGateway`` if it fails."""

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        """The named outputs of one run."""

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        """The ``models`` that are ready."""

    async def capacity(self, model: str) -> Capacity:
        """The capacity for a model."""

    async def try_out(self, model: str, trial: Trial) -> None:
        """Run a trial. Raises ``BadAnswer`` if the model computes wrong numbers."""

    async def broken_models(self, models: Sequence[str]) -> set[str]:
        """The ``models`` with a dead process or a failed last load."""

    async def reload(self, model: str) -> None:
        """Unload a model and load it again."""

    async def close(self) -> None:
        """Cancel calls in flight and close the connection."""
