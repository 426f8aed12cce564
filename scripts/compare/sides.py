"""Exports text models in both precisions from one source, and runs them."""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from frontend.text.tokens import Ids, TextTokenizer, pack
from scripts.export_models.progress import Progress
from scripts.export_models.text import session

ROOT = Path(__file__).parents[2]
EXACT, OTHER = "fp32", "int8"
# Tokens per run, which bounds memory and allows progress.
_RUN_TOKENS = 4096
# Exit status of an export that wrote its graphs, one of which failed a check.
_LOST_TOO_MUCH = 1


@dataclass(frozen=True)
class Models:
    """``names`` of text models, their ``source`` and its ``folder``, and the folder ``work`` of their exports."""

    names: tuple[str, ...]
    source: str
    folder: str
    work: Path

    def export(self, precision: str) -> None:
        """Export missing models. ``CalledProcessError`` if that fails; the export prints why."""
        command = [sys.executable, "-m", "scripts.export_models", "--source", self.source, "--precision", precision]
        command += ["--repository", str(self.work / precision)]
        command += ["--folder", self.folder] if self.folder else []
        command += [part for name in self.names for part in ("--only", name)]
        # Its output goes to standard error, like progress.
        status = subprocess.call(command, cwd=ROOT, stdout=2)
        if status not in (0, _LOST_TOO_MUCH):
            raise subprocess.CalledProcessError(status, command)

    def of(self, name: str, precision: str) -> Path:
        """The folder of an exported model's files."""
        return self.work / precision / name / "1"

    def tokenizer(self, name: str) -> TextTokenizer:
        """The tokenizer of a model, which is the same in both precisions."""
        return TextTokenizer(self.of(name, EXACT))


def ask(folder: Path, ids: list[Ids], threads: int, progress: Progress) -> tuple[NDArray[np.float32], float]:
    """The rows of the model in a folder for texts, and its tokens per second."""
    run = session(folder, threads)
    run(ids[:1])
    began = time.perf_counter()
    rows = np.concatenate([run(texts) for texts in progress.over(pack(ids, _RUN_TOKENS), "computing")])
    return rows, sum(map(len, ids)) / (time.perf_counter() - began)
