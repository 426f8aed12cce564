"""What the parts of a run share: look-alikes with random weights, and what a processor makes of them in fp32."""

from pathlib import Path
from typing import Any

import numpy as np

from scripts.benchmark.lookalikes import text, whisper
from scripts.benchmark.lookalikes.once import once
from scripts.export_models.checkpoints import WHISPER_TURBO, SourceError
from scripts.export_models.graphs.builder import save
from scripts.export_models.sources import DemoSource
from scripts.export_models.text import models
from scripts.export_models.text.encoder import Precision
from scripts.export_models.text.model_folder import session, write
from scripts.export_models.whisper.export import convert
from scripts.gpu_check import padded
from scripts.gpu_check.found import SkippedError
from scripts.gpu_check.inputs import to_compare
from scripts.gpu_check.job import Job
from scripts.machine import processors

_DEMO = Path("build/export/demo")


def text_model(job: Job) -> Any:
    """The embedder in torch: the same weights in every part, by their seed."""
    return text.model(job.size.layers)


def packed_graph(job: Job, precision: Precision) -> Path:
    """The folder of the product's own graph, as it is exported: for CUDA in fp16, for processors in fp32."""

    def make(folder: Path) -> None:
        write(models.embedder(models.checkpoint_of(text_model(job)), precision, "cls"), precision, folder)

    return once(job.folder / f"packed-{precision}", make)


def padded_graph(job: Job) -> Path:
    """The same with padding."""

    def make(folder: Path) -> None:
        save(padded.embedder(models.checkpoint_of(text_model(job)), half=job.half), folder / "model.onnx")

    return once(job.folder / "padded", make) / "model.onnx"


def vectors(job: Job) -> np.ndarray:
    """What the texts to compare come to on this machine's processors, in fp32: [texts, width]."""

    def make(folder: Path) -> None:
        folder.mkdir()
        run = session(packed_graph(job, "fp32"), processors())
        np.save(folder / "vectors.npy", run(to_compare(job.size)))

    return np.load(once(job.folder / "vectors", make) / "vectors.npy")


def whisper_source(job: Job) -> Path:
    """A checkpoint of turbo's layout, in fp16."""
    return once(
        job.folder / "whisper-source",
        lambda folder: whisper.write(folder, layers=job.size.whisper_layers, width=job.size.whisper_width),
    )


def whisper_converted(job: Job) -> Path:
    """The same as CTranslate2 reads it."""
    return once(job.folder / "whisper", lambda folder: convert(whisper_source(job), folder, "float16"))


def demo_whisper(job: Job) -> Path:
    """The demo's Whisper, which is a real one, as CTranslate2 reads it; ``SkippedError`` where it cannot be had."""
    try:
        source = DemoSource(_DEMO).fetch(WHISPER_TURBO)
    except SourceError as error:
        raise SkippedError(str(error)) from None
    return once(job.folder / "whisper-demo", lambda folder: convert(source, folder, "float16"))
