"""What the export of a model works under."""

from collections.abc import Sequence
from dataclasses import dataclass

from scripts.export_models.graphs.progress import SILENT, Progress
from scripts.export_models.graphs.runtimes import OtherRuntime


@dataclass(frozen=True)
class Conditions:
    """Threads to compute on, who hears of the progress, and the ONNX Runtimes to check on beside this process's."""

    threads: int = 1
    progress: Progress = SILENT
    others: Sequence[OtherRuntime] = ()


ALONE = Conditions()
