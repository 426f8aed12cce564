"""Compares the samples of an exported voice with the original's, for sentences of every length, with the same noise."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray

from scripts.export_models.onnx_passes import nodes_of
from scripts.export_models.parity import Check

_UTTERANCES = 24
_LONGEST = 300
_NOISE, _LENGTH, _DURATION_NOISE = 0.667, 1.0, 0.8
_NOISES = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
_SEED = "seed"
_LARGEST_DIFFERENCE = 1e-4
# Share of utterances. If rounding changes the length of a phoneme by a frame, all later samples differ.
_OTHER_LENGTHS = 1 / _UTTERANCES

# A model as a function from its inputs to its first output.
Arrays = dict[str, NDArray[Any]]
Infer = Callable[[Arrays], NDArray[np.float32]]
Open = Callable[[], Infer]


def utterances(symbols: Sequence[int], speakers: bool) -> list[Arrays]:
    """The inputs of 24 sentences with 1 to 300 phoneme ids of ``symbols`` and the scales of the product."""
    rng = np.random.default_rng(24)
    lengths = np.unique(np.geomspace(1, _LONGEST, _UTTERANCES + 4).astype(np.int64))[-_UTTERANCES:]
    scales = np.array([_NOISE, _LENGTH, _DURATION_NOISE], np.float32)
    speaker = {"sid": np.array([0], np.int64)} if speakers else {}
    return [
        {"input": rng.choice(symbols, (1, n)), "input_lengths": np.array([n]), "scales": scales, **speaker}
        for n in lengths
    ]


def with_seeds(model: onnx.ModelProto) -> bytes:
    """A model's file with seeds, so that each session draws the same noise."""
    for number, node in enumerate(nodes_of(model, *_NOISES)):
        kept = [attribute for attribute in node.attribute if attribute.name != _SEED]
        del node.attribute[:]
        node.attribute.extend([*kept, onnx.helper.make_attribute(_SEED, float(number + 1))])
    content: bytes = model.SerializeToString()
    return content


def session(model: bytes, threads: int) -> Infer:
    """Load a model's file with ONNX Runtime."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    loaded = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def infer(inputs: Arrays) -> NDArray[np.float32]:
        samples: NDArray[np.float32] = loaded.run(None, inputs)[0]
        return samples

    return infer


def compare(name: str, spoken: Sequence[Arrays], original: Open, ours: Open) -> list[Check]:
    """The largest difference of a sample over all utterances, and the share of utterances of another length.

    After an utterance of another length the noise differs, so both sessions begin again.
    """
    differences: list[float] = []
    waiting = list(reversed(spoken))
    while waiting:
        differences += _until_lengths_differ(waiting, original(), ours())
    others = len(spoken) - len(differences)
    largest = float(np.max(differences, initial=0.0))
    return [
        Check(name, f"{len(differences)} utterances to {_LONGEST} ids, samples", largest, _LARGEST_DIFFERENCE),
        Check(name, "utterances of another length", others / len(spoken), _OTHER_LENGTHS),
    ]


def _until_lengths_differ(waiting: list[Arrays], before: Infer, after: Infer) -> list[float]:
    """Speak and remove the last of ``waiting`` one by one, up to and with the first that has another length."""
    found: list[float] = []
    while waiting:
        inputs = waiting.pop()
        wanted, got = before(inputs), after(inputs)
        if wanted.shape != got.shape:
            break
        found.append(_largest(wanted, got))
    return found


def _largest(wanted: NDArray[np.float32], got: NDArray[np.float32]) -> float:
    return float(np.abs(wanted - got).max(initial=0.0))
