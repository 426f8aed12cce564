"""A pass over a graph, which replaces nodes by others with the same results.

Before it begins, what it should rewrite is counted, by a simpler rule than the one it rewrites by. If it rewrites less,
the graph is refused: it would be right but slower than the benchmarks say.
"""

from collections.abc import Callable
from dataclasses import dataclass

import onnx

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.graphs.rewriting import nodes_of

Count = Callable[[onnx.ModelProto], int]


@dataclass(frozen=True)
class Pass:
    """Rewrites a graph in place: ``rewrite`` returns how many ``parts`` it has rewritten; it must be all ``found``."""

    name: str
    parts: str
    found: Count
    rewrite: Count

    def run(self, model: onnx.ModelProto) -> None:
        """Rewrite a graph; raises ``SourceError`` if a part does not match."""
        found = self.found(model)
        rewritten = self.rewrite(model)
        if not found or rewritten != found:
            raise SourceError(f"the pass {self.name!r} rewrote {rewritten} of the graph's {found} {self.parts}")


def nodes(*kinds: str) -> Count:
    """Counts the nodes of these kinds."""
    return lambda model: len(nodes_of(model, *kinds))
