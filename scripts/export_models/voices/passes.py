"""The passes over a graph of Piper's, in order. Each replaces nodes by others that give the same sound."""

import onnx

from scripts.export_models.onnx_passes import CONVOLUTIONS, Pass, nodes
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.voices import pictures, stretches, upsampling

PASSES = (
    Pass("pictures", "convolutions", nodes(*CONVOLUTIONS), pictures.as_pictures),
    Pass("stretches", "upsampling stages", nodes("ConvTranspose"), stretches.in_stretches),
    Pass("upsampling", "transposed convolutions", nodes("ConvTranspose"), upsampling.interleaved),
)


def rewrite(model: onnx.ModelProto, progress: Progress = SILENT) -> None:
    """Run all passes over a voice in place; raises ``SourceError`` for one that is no vocoder of Piper's."""
    for each in progress.over(PASSES, "rewriting"):
        each.run(model)
