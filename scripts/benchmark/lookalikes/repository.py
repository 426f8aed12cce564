"""Model repositories with look-alikes of the real sizes in the place of the demo's models."""

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto
from optimum.onnxruntime import ORTModelForFeatureExtraction
from transformers import AutoModel, AutoModelForSequenceClassification

from scripts.benchmark.lookalikes import ggml, text, voice, whisper
from scripts.benchmark.lookalikes.once import once
from scripts.export_models import stamp
from scripts.export_models.plan import EXPORT_VERSION
from scripts.export_models.progress import Conditions
from scripts.export_models.stamp import Stamp
from scripts.export_models.text import export, models
from scripts.export_models.text.calibration import calibrate
from scripts.export_models.text.encoder import Precision
from scripts.export_models.voices.export import ways
from scripts.export_models.whisper.export import convert
from scripts.run.state import REPOSITORY

VOICE = "amy"
_CALIBRATED_ON = 16
_SMALL = 1 << 20
COMPUTE_TYPE = "int8"


def convert_for_faster_whisper(source: Path, target: Path) -> None:
    """A checkpoint in CTranslate2's int8, with what faster-whisper reads beside it."""
    convert(source, target, COMPUTE_TYPE)
    shutil.copy(source / "preprocessor_config.json", target)


class Checkpoints:
    """Look-alikes in ``folder``, each written when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        # A link to what lies in it is followed from elsewhere.
        self._folder = folder.absolute()

    def text(self, *, reranker: bool) -> Path:
        name = "reranker" if reranker else "embedder"
        return once(self._folder / name, partial(text.write, reranker=reranker))

    def padded_text(self) -> Path:
        """The embedder as a graph with padding, as optimum exports it."""

        def export(folder: Path) -> None:
            source = self.text(reranker=False)
            ORTModelForFeatureExtraction.from_pretrained(source, export=True).save_pretrained(folder)
            for file in source.glob("*.json"):
                shutil.copy(file, folder)

        return once(self._folder / "embedder-padded", export)

    def whisper_source(self) -> Path:
        """As the hub has it."""
        return once(self._folder / "whisper", whisper.write)

    def whisper(self) -> Path:
        """As the export writes it: graphs in int8."""
        source = self.whisper_source()

        def export(folder: Path) -> None:
            convert(source, folder, COMPUTE_TYPE, graphs=True)

        return once(source.with_name(f"{source.name}-graph"), export)

    def whisper_for_peers(self) -> Path:
        """As faster-whisper reads it."""
        return once(self._folder / "whisper-int8", partial(convert_for_faster_whisper, self.whisper_source()))

    def whisper_for_cpp(self) -> Path:
        """In whisper.cpp's file format."""
        return once(self._folder / "whisper.ggml", lambda file: ggml.write(self.whisper_source(), file))

    def voice(self) -> Path:
        settings, file = REPOSITORY / f"piper_{VOICE}" / "1" / "voice.json", f"{VOICE}.onnx"
        return once(self._folder / "voice", lambda folder: voice.write(folder / file, settings)) / file


def _link_or_copy(source: str, target: str) -> None:
    """Weights are linked; what an export may write over is copied, or it would be written over on both sides."""
    (os.link if os.path.getsize(source) > _SMALL else shutil.copy2)(source, target)


def _no_code(folder: str, names: list[str]) -> list[str]:
    """Of a model's version, all but what Triton runs."""
    return [name for name in names if not name.endswith(".py")] if Path(folder).name == "1" else []


def _own_copy(target: Path, replaced: str) -> Path:
    """The demo's repository without the weights of the model that is ``replaced``; gives that model's folder."""
    if not target.exists():
        shutil.copytree(REPOSITORY, target, copy_function=_link_or_copy)
    model = target / replaced
    shutil.rmtree(model)
    shutil.copytree(REPOSITORY / replaced, model, ignore=_no_code)
    return model


def packed_graph(model: Any, precision: Precision, *, reranker: bool = False) -> ModelProto:
    """Our graph of a look-alike in torch."""
    rng = np.random.default_rng(2)
    ids = [rng.integers(4, text.WORDS, 100).astype(np.int32) for _ in range(_CALIBRATED_ON)]
    its = models.checkpoint_of(model, calibrate(model.base_model, ids) if precision == "int8" else None)
    return models.reranker(its, precision) if reranker else models.embedder(its, precision, "cls")


def put_text(target: Path, checkpoint: Path, precision: Precision, *, reranker: bool) -> Path:
    """Our graph of the embedder or reranker; gives the folder with ``model.onnx``."""
    name = "m3_reranker" if reranker else "m3_embedder"
    wanted = Stamp(str(checkpoint), precision, EXPORT_VERSION)
    if stamp.read(target, name) == wanted:
        return target / name / "1"
    kind = AutoModelForSequenceClassification if reranker else AutoModel
    graph = packed_graph(kind.from_pretrained(checkpoint).eval(), precision, reranker=reranker)
    # Only now: whoever breaks this off in the minutes before finds the repository whole.
    folder = _own_copy(target, name) / "1"
    export.write(name, graph, precision, checkpoint, folder)
    stamp.write(target, name, wanted)
    return folder


def put_whisper(target: Path, converted: Path) -> None:
    """The converted look-alike as ``whisper_turbo``."""
    model = _own_copy(target, "whisper_turbo")
    shutil.copytree(converted, model / "1" / "whisper")


def put_voice(target: Path, file: Path) -> None:
    model = _own_copy(target, f"piper_{VOICE}")
    ways(model.name, file, model, Conditions(threads=2))[0].export()
