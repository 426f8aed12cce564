"""What a text model in fp16 is held to where no CUDA is at hand: its file is read, and its numbers are emulated."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from scripts.export_models.graphs.cuda_kernels import without_kernel
from scripts.export_models.graphs.half import Emulation
from scripts.export_models.graphs.packed_attention import layouts, misplaced, unmet
from scripts.export_models.graphs.parity import Check
from scripts.export_models.graphs.progress import Progress
from scripts.export_models.graphs.values import values_of, without_weights
from scripts.export_models.text.checks import FP16, Ids, close, packed

# A reranker's head stays in fp32: of M3's weights these are a five-hundredth.
_FP32_LIMIT = 0.05
# What fp16 ends at is 65,504: half of it is left to texts that nobody tried.
_LARGEST_LIMIT = 65_504 / 2
_MANY = 32

# The lengths of the texts that attention sees apart, of one text's token ids.
Apart = Callable[[NDArray[np.int32]], Sequence[int]]


def read(name: str, written: Path, texts: Ids, apart: Apart, progress: Progress) -> list[Check]:
    """What a graph's file says of itself; each reason for a refusal is told."""
    model = without_weights(written)
    values = values_of(model)
    slow, broken = without_kernel(model, values), unmet(model, values)
    for reason in dict.fromkeys([*slow, *broken]):
        progress.note(f"fp16: {reason}")
    longest = max(texts, key=len)
    batches = [texts[:1], [longest], [texts[at % len(texts)] for at in range(_MANY)]]
    wrong = 0
    # What does not even have the right type or rank is not run.
    for layout in [] if broken else layouts(model, values):
        wrong += sum(misplaced(layout, batch, [one for text in batch for one in apart(text)]) for batch in batches)
    return [
        Check(name, "fp16: operators without a CUDA kernel", len(slow), 0),
        Check(name, "fp16: demands of packed attention not met", len(broken), 0),
        Check(name, "fp16: batches with wrong token offsets", wrong, 0),
        Check(name, "fp16: share of weights in fp32", _fp32_share(model), _FP32_LIMIT),
    ]


def _fp32_share(model: onnx.ModelProto) -> float:
    sizes = {TensorProto.FLOAT: 0, TensorProto.FLOAT16: 0}
    for weight in model.graph.initializer:
        if weight.data_type in sizes:
            sizes[weight.data_type] += int(np.prod(weight.dims))
    return sizes[TensorProto.FLOAT] / sum(sizes.values())


def parity(name: str, written: Path, texts: Ids, wanted: NDArray[np.float32], threads: int) -> list[Check]:
    """How far the emulated graph, given all texts at once, is from the original's ``wanted``, and from fp16's end."""
    emulation = Emulation(written, threads)
    found = close(name, FP16, packed(emulation.infer), texts, wanted)
    return [*found, Check(name, "fp16: largest activation", emulation.largest, _LARGEST_LIMIT)]
