"""What the export of a model works under."""

from dataclasses import dataclass

from scripts.export_models.graphs.progress import SILENT, Progress


@dataclass(frozen=True)
class Conditions:
    """Threads to compute on, and who hears of the progress."""

    threads: int = 1
    progress: Progress = SILENT


ALONE = Conditions()
