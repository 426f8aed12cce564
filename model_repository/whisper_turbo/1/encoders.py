"""What encodes a window on a processor: OpenVINO, which takes a third of the time of CTranslate2 there."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]
# Those of a second. OpenVINO 2026.4 gives NaN ever after if it first ran with one.
FIRST_FRAMES = 50


@dataclass(frozen=True)
class Encoded:
    """A window's encoder output [1, frames, width], and the keys and values that a graph's decoder attends to."""

    output: Float
    attended: dict[str, Any] = field(default_factory=dict)


class GraphEncoder:
    """The graph that ``scripts/export_models/whisper/encoder.py`` writes, compiled; one window at a time."""

    # Whether several windows are faster together than one by one.
    together = False

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        (one, bins, frames) = graph.input().partial_shape
        # A graph for any length lays out its weights as it first runs, for as long as a window takes: no caller waits.
        if frames.is_dynamic:
            self.encode(np.zeros((one.get_length(), bins.get_length(), 2 * FIRST_FRAMES), np.float32))

    def encode(self, features: Float) -> list[Encoded]:
        """One window, [1, mel bins, 2 x frames]."""
        named = {port.any_name: array for port, array in self._graph(features).items()}
        return [Encoded(named.pop("encoded"), named)]
