"""Text models in both precisions: exported from one source, and asked one after the other."""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from frontend.text.tokens import Ids, TextTokenizer, pack
from scripts.export_models.progress import Progress
from scripts.export_models.text.model_folder import session

ROOT = Path(__file__).parents[2]
EXACT, OTHER = "fp32", "int8"
# Texts go in pieces of so many tokens, which bounds the memory and shows how far it is.
_PIECE = 4096
# The export has written its graphs; a check of one has failed, and it has said which.
_LOST_TOO_MUCH = 1


@dataclass(frozen=True)
class Models:
    """``names`` of text models, the ``source`` they come from with its ``folder``, and where exports of them go."""

    names: tuple[str, ...]
    source: str
    folder: str
    work: Path

    def export(self, precision: str) -> None:
        """Export them, unless they are there. ``CalledProcessError`` where that could not be done, which was told."""
        command = [sys.executable, "-m", "scripts.export_models", "--source", self.source, "--precision", precision]
        command += ["--repository", str(self.work / precision)]
        command += ["--folder", self.folder] if self.folder else []
        command += [part for name in self.names for part in ("--only", name)]
        # What it says goes where progress does.
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
    """What the model in a folder answers to texts, a row each, and how many of their tokens a second."""
    run = session(folder, threads)
    run(ids[:1])
    began = time.perf_counter()
    rows = np.concatenate([run(piece) for piece in progress.over(pack(ids, _PIECE), "computing")])
    return rows, sum(map(len, ids)) / (time.perf_counter() - began)
