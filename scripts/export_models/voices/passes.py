"""The passes over a voice's graph, in order. Each replaces nodes by others that give the same sound.

Before a pass begins, it counts what it should rewrite, by a simpler rule than the one it rewrites by. If it rewrites
fewer, the voice is refused: it would sound right but be slower than the benchmarks say.
"""

from collections.abc import Callable
from dataclasses import dataclass

import onnx

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.graphs.rewriting import CONVOLUTIONS
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.voices import pictures, stretches, upsampling


@dataclass(frozen=True)
class Pass:
    """Rewrites a graph in place.

    ``found`` counts the ``parts`` to rewrite, ``rewrite`` returns how many it has rewritten. Both must be equal.
    """

    name: str
    parts: str
    found: Callable[[onnx.ModelProto], int]
    rewrite: Callable[[onnx.ModelProto], int]

    def run(self, model: onnx.ModelProto) -> None:
        """Rewrite a vocoder's graph; raises ``SourceError`` if a part does not match."""
        found = self.found(model)
        rewritten = self.rewrite(model)
        if not found or rewritten != found:
            raise SourceError(f"the pass {self.name!r} rewrote {rewritten} of the voice's {found} {self.parts}")


PASSES = (
    Pass("pictures", "convolutions", pictures.found, pictures.as_pictures),
    Pass("stretches", "upsampling stages", stretches.found, stretches.in_stretches),
    Pass("upsampling", "transposed convolutions", upsampling.found, upsampling.interleaved),
)


def rewrite(model: onnx.ModelProto, progress: Progress = SILENT) -> None:
    """Run all passes over a voice in place, unless it has no convolutions, like the demo's."""
    if any(node.op_type in CONVOLUTIONS for node in model.graph.node):
        for each in progress.over(PASSES, "rewriting"):
            each.run(model)
