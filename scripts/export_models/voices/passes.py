"""The passes over a voice's graph, in their order: each puts in place of some nodes others that give the same sound.

Each counts, before it begins, what there is for it to rewrite, in plainer terms than it rewrites by. A voice that one
of them does not match any more is refused: it would be slower than the benchmarks say, and nobody would hear it.
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
    """One rewriting of a graph in place.

    ``found`` counts the ``places`` of a graph that the passes before have left, none of which may be missing or remain;
    ``rewrite`` answers how many it has rewritten.
    """

    name: str
    places: str
    found: Callable[[onnx.ModelProto], int]
    rewrite: Callable[[onnx.ModelProto], int]

    def run(self, model: onnx.ModelProto) -> None:
        """Rewrite a vocoder's graph; ``SourceError`` where any place is not as the pass knows them."""
        found = self.found(model)
        rewritten = self.rewrite(model)
        if not found or rewritten != found:
            raise SourceError(f"the pass {self.name!r} rewrote {rewritten} of the voice's {found} {self.places}")


PASSES = (
    Pass("pictures", "convolutions", pictures.found, pictures.as_pictures),
    Pass("stretches", "upsampling stages", stretches.found, stretches.in_stretches),
    Pass("upsampling", "transposed convolutions", upsampling.found, upsampling.interleaved),
)


def rewrite(model: onnx.ModelProto, progress: Progress = SILENT) -> None:
    """Run all passes over a voice in place; one without convolutions, as the demo's are, has nothing for them."""
    if any(node.op_type in CONVOLUTIONS for node in model.graph.node):
        for each in progress.over(PASSES, "rewriting"):
            each.run(model)
