"""A model as a function from its inputs to its first output, on this process's ONNX Runtime or on another."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.graphs.runtimes import OtherRuntime

_WORKER = Path(__file__).with_name("elsewhere.py")

Arrays = dict[str, NDArray]
Infer = Callable[[Arrays], NDArray[np.float32]]


def here(model: Path, threads: int) -> Infer:
    """``model`` on this process's ONNX Runtime."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    loaded = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def infer(inputs: Arrays) -> NDArray[np.float32]:
        answer: NDArray[np.float32] = loaded.run(None, inputs)[0]
        return answer

    return infer


@contextmanager
def elsewhere(runtime: OtherRuntime, model: Path, threads: int) -> Iterator[Infer]:
    """``model`` on another ONNX Runtime, in a process that ends with the block."""
    command = [str(runtime.python), str(_WORKER), str(model), str(threads)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        asked, answered = Path(folder, "asked.npz"), Path(folder, "answered.npy")
        assert process.stdin is not None
        assert process.stdout is not None
        requests, replies = process.stdin, process.stdout

        def infer(inputs: Arrays) -> NDArray[np.float32]:
            np.savez(asked, **inputs)
            # A process that could not load the model is not there to read.
            with suppress(BrokenPipeError):
                print(asked, answered, file=requests, flush=True)
            if replies.readline() != "ok\n":
                raise SourceError(f"{model} does not run on {runtime}")
            answer: NDArray[np.float32] = np.load(answered)
            return answer

        try:
            yield infer
        finally:
            with suppress(BrokenPipeError):
                requests.close()
