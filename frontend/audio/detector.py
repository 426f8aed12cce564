"""Where somebody speaks: Silero's voice detector (MIT), run through ONNX Runtime.

The detector goes through audio frame by frame and remembers what it heard. Long audio is cut into pieces that go
through it side by side, which takes a third of the time; each begins with some seconds that were before it, after which
the detector is as if it had heard everything. What hardly moves is no speech and is left out.
"""

from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

FRAME = 512
_RATE = 16_000
_CONTEXT = 64
_STATE = 128
# In frames of 32 ms: a minute, and four seconds.
_PIECE = 1875
_WARM_UP = 125
# What is left out is at least so long, and what is heard goes on for so long before and after its sounds.
_BLOCK = 16

Samples = NDArray[np.int16]


@cache
def _detector() -> Any:
    """The detector of this worker process: a session is too slow to make for every file."""
    path = metadata.distribution("silero-vad").locate_file("silero_vad/data/silero_vad.onnx")
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(str(Path(str(path))), options, providers=["CPUExecutionProvider"])


def load_detector() -> None:
    """Load the detector now, so that the first file does not wait for it."""
    _detector()


def speech_probabilities(frames: Samples, quiet: int = 0) -> NDArray[np.float32]:
    """How sure the detector is of speech in each frame: int16 [frames, 512] to float32 [frames].

    Where samples differ by less than twice ``quiet`` for half a second and more, it is not asked, and the answer is 0.
    """
    result = np.zeros(len(frames), np.float32)
    pieces = [piece for stretch in _stretches(frames, quiet) for piece in _pieces(*stretch)]
    # The longest first: those that go on are then the first ones.
    pieces.sort(key=lambda piece: piece[0] - piece[2])
    starts, firsts, ends = np.array(pieces, np.int64).reshape(-1, 3).T
    lengths = ends - starts
    state = np.zeros((2, len(pieces), _STATE), np.float32)
    given = np.zeros((len(pieces), _CONTEXT + FRAME), np.float32)
    for step in range(lengths.max(initial=0)):
        active = int(np.count_nonzero(lengths > step))
        given, state = given[:active], state[:, :active]
        given[:, :_CONTEXT] = given[:, -_CONTEXT:]
        given[:, _CONTEXT:] = frames[starts[:active] + step] / np.float32(32768)
        inputs = {"input": given, "state": np.ascontiguousarray(state), "sr": np.array(_RATE, np.int64)}
        probabilities, state = _detector().run(None, inputs)
        heard = starts[:active] + step >= firsts[:active]
        result[(starts[:active] + step)[heard]] = probabilities[heard, 0]
    return result


def _stretches(frames: Samples, quiet: int) -> list[tuple[int, int]]:
    """The frames ``[start, end)`` that are worth listening to."""
    blocks = -(-len(frames) // _BLOCK)
    loud = np.zeros(blocks + 2, bool)
    for block in range(blocks):
        some = frames[block * _BLOCK : (block + 1) * _BLOCK]
        loud[block + 1] = int(some.max()) - int(some.min()) >= 2 * quiet
    near = loud[:-2] | loud[1:-1] | loud[2:]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], near, [False]]).astype(np.int8)))
    return [
        (int(start) * _BLOCK, min(int(end) * _BLOCK, len(frames)))
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]


def _pieces(start: int, end: int) -> list[tuple[int, int, int]]:
    """Parts of a stretch: where each begins, from where on it counts, and where it ends."""
    firsts = range(start, end, _PIECE)
    return [(max(start, first - _WARM_UP), first, min(end, first + _PIECE)) for first in firsts]
