"""The compared models: text models of M3's size with random weights, and the demo's real Whisper base and voice joe.

Each is made when it is first used, in the form that the product or the peers read.
"""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from transformers import AutoModel, AutoModelForSequenceClassification, WhisperTokenizerFast

from lab.peers import text_models
from scripts.export_models import text_graph
from scripts.export_models.checkpoints import KOKORO_GRAPH, PROMISES
from scripts.export_models.kokoro.styles import OWN, ROWS, WIDTH
from scripts.export_models.precisions import Precision
from scripts.export_models.text import write
from scripts.export_models.text_int8 import calibrate
from scripts.export_models.whisper import convert
from scripts.run.state import REPOSITORY

_DEMO = Path("build/export/demo")
# The catalogue's voice with the weights of joe.
VOICE = "ryan"
COMPUTE_TYPE = "int8"
_END = "<|endoftext|>"
_CALIBRATED_ON = 16


def once(target: Path, make: Callable[[Path], object]) -> Path:
    """Make the file or folder ``target`` unless it exists. An interrupted ``make`` leaves nothing."""
    if not target.exists():
        begun = target.with_name(f"{target.name}.partial")
        shutil.rmtree(begun, ignore_errors=True)
        make(begun)
        begun.rename(target)
    return target


class Checkpoints:
    """The checkpoints in ``folder``."""

    def __init__(self, folder: Path) -> None:
        # Absolute, because links point to files in it.
        self._folder = folder.absolute()

    def text(self, *, reranker: bool) -> Path:
        """The checkpoint of the embedder or reranker, laid out as on the hub."""
        name = "reranker" if reranker else "embedder"
        return once(self._folder / name, partial(text_models.write, reranker=reranker))

    def repository(self, precision: Precision, *, reranker: bool) -> Path:
        """A copy of the demo's model repository with our graph of the embedder or reranker."""
        name = "m3_reranker" if reranker else "m3_embedder"
        source = self.text(reranker=reranker)

        def put(target: Path) -> None:
            rng = np.random.default_rng(2)
            ids = [rng.integers(4, text_models.WORDS, 100).astype(np.int32) for _ in range(_CALIBRATED_ON)]
            kind = AutoModelForSequenceClassification if reranker else AutoModel
            model = kind.from_pretrained(source).eval()
            weights = text_graph.trained(model, calibrate(model.base_model, ids) if precision == "int8" else None)
            graph = (
                text_graph.reranker(weights, precision) if reranker else text_graph.embedder(weights, precision, "cls")
            )
            shutil.copytree(REPOSITORY, target)
            shutil.rmtree(target / name)
            shutil.copytree(REPOSITORY / name, target / name, ignore=_all_but_code)
            write(graph, precision, target / name / "1", max_tokens=PROMISES[name].max_tokens)
            shutil.copy(source / "tokenizer.json", target / name / "1")

        return once(self._folder / f"{name}-{precision}", put)

    def voice(self) -> Path:
        """The graph of joe, next to Piper's settings."""
        source = _DEMO / f"voices/en/en_US/{VOICE}/medium"
        return once(self._folder / "voice", partial(shutil.copytree, source)) / f"en_US-{VOICE}-medium.onnx"

    def kokoro(self) -> tuple[Path, Path]:
        """The published graph of Kokoro, and the demo's styles in the file that kokoro-onnx reads."""

        def put(file: Path) -> None:
            styles = {path.stem: np.fromfile(path, "<f4").reshape(ROWS, 1, WIDTH) for path in OWN.glob("*.bin")}
            with file.open("wb") as opened:
                np.savez(opened, **styles)

        return (_DEMO / "kokoro" / KOKORO_GRAPH).absolute(), once(self._folder / "styles.npz", put)

    def whisper(self) -> Path:
        """Whisper base with every file of its tokenizer."""

        def complete(folder: Path) -> None:
            shutil.copytree(_DEMO / "whisper", folder)
            read = Tokenizer.from_file(str(folder / "tokenizer.json"))
            tokenizer = WhisperTokenizerFast(
                tokenizer_object=read, unk_token=_END, bos_token=_END, eos_token=_END, pad_token=_END
            )
            tokenizer.save_pretrained(folder)

        return once(self._folder / "whisper-base", complete)

    def whisper_for_faster_whisper(self) -> Path:
        """Whisper base in CTranslate2's int8, with the files that faster-whisper reads."""
        source = self.whisper()

        def make(folder: Path) -> None:
            convert(source, folder, COMPUTE_TYPE)
            shutil.copy(source / "preprocessor_config.json", folder)

        return once(self._folder / "whisper-base-int8", make)


def _all_but_code(folder: str, names: list[str]) -> list[str]:
    """The files of a model's version that an export writes."""
    return [name for name in names if not name.endswith(".py")] if Path(folder).name == "1" else []
