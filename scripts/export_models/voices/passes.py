"""The passes over a voice's graph, in order. Each replaces nodes by others that give the same sound.

Before a pass begins, it counts what it should rewrite, by a simpler rule than the one it rewrites by. If it rewrites
fewer, the voice is refused: it would sound right but be slower than the benchmarks say.
"""

from collections.abc import Callable
from dataclasses import dataclass

import onnx

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.graphs.rewriting import CONVOLUTIONS, nodes_of
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.voices import pictures, stretches, upsampling


@dataclass(frozen=True)
class Pass:
    """Rewrites a graph in place.

    ``parts`` says what the nodes of these ``kinds`` are. ``rewrite`` returns how many it has rewritten: it must be all.
    """

    name: str
    parts: str
    kinds: frozenset[str]
    rewrite: Callable[[onnx.ModelProto], int]

    def found(self, model: onnx.ModelProto) -> int:
        """The number of nodes to rewrite."""
        return len(nodes_of(model, *self.kinds))

    def run(self, model: onnx.ModelProto) -> None:
        """Rewrite a vocoder's graph; raises ``SourceError`` if a part does not match."""
        found = self.found(model)
        rewritten = self.rewrite(model)
        if not found or rewritten != found:
            raise SourceError(f"the pass {self.name!r} rewrote {rewritten} of the voice's {found} {self.parts}")


PASSES = (
    Pass("pictures", "convolutions", CONVOLUTIONS, pictures.as_pictures),
    Pass("stretches", "upsampling stages", frozenset({"ConvTranspose"}), stretches.in_stretches),
    Pass("upsampling", "transposed convolutions", frozenset({"ConvTranspose"}), upsampling.interleaved),
)


def rewrite(model: onnx.ModelProto, progress: Progress = SILENT) -> None:
    """Run all passes over a voice in place, unless it has no convolutions, like the demo's."""
    if any(node.op_type in CONVOLUTIONS for node in model.graph.node):
        for each in progress.over(PASSES, "rewriting"):
            each.run(model)
