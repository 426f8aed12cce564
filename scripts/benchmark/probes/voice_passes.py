"""What each pass over a voice's graph gives, in time and memory: python -m scripts.benchmark.probes.voice_passes

Each is left out of all on a look-alike of a medium voice. Every round runs every graph once, on one thread, and counts
its processor time; told are quartiles of the ratios. Memory is that of a process of its own above one without a graph.
"""

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

from scripts.benchmark.lookalikes import voice
from scripts.export_models.sessions import Arrays, Infer, here
from scripts.export_models.voices.passes import PASSES, Pass
from scripts.machine import held_bytes
from scripts.run.state import REPOSITORY

_ROUNDS = 25
# Phoneme ids, 29 of which are a second: of the sentence that is timed, and of the one that memory is told of.
_TIMED, _LONGEST = 100, 300


def _said(ids: int) -> Arrays:
    given = np.random.default_rng(ids).integers(1, 100, (1, ids))
    return {"input": given, "input_lengths": np.array([ids]), "scales": np.array([0.667, 1, 0.8], np.float32)}


def _written(folder: Path) -> dict[str, Path]:
    """The graph of each choice of passes, that of all of them first."""
    voice.write(folder / "source.onnx", REPOSITORY / "piper_amy" / "1" / "voice.json")
    choices: dict[str, Sequence[Pass]] = {"all passes": PASSES, "as exported": (), "pictures": PASSES[:1]}
    choices |= {f"without {one.name}": [each for each in PASSES if each is not one] for one in PASSES[1:]}
    for name, passes in choices.items():
        model = onnx.load(folder / "source.onnx")
        for each in passes:
            each.rewrite(model)
        onnx.save(model, folder / f"{name}.onnx")
    return {name: folder / f"{name}.onnx" for name in choices}


def memory(path: Path) -> tuple[float, float]:
    """Megabytes that a graph adds to this process, with the options of its model in Triton: loaded, and at the most."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.enable_mem_pattern = 1, False
    before = held_bytes("VmRSS")
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    loaded = held_bytes("VmRSS")
    session.run(None, _said(_LONGEST))
    return (loaded - before) / 2**20, (held_bytes("VmHWM") - before) / 2**20


def _seconds(run: Infer) -> float:
    started = time.process_time()
    run(_said(_TIMED))
    return time.process_time() - started


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        graphs = _written(Path(directory))
        sessions = [here(path, 1) for path in graphs.values()]
        rounds = np.array([[_seconds(run) for run in sessions] for _ in range(_ROUNDS + 1)])[1:]
        quartiles = np.percentile(rounds / rounds[:, :1], (25, 50, 75), axis=0).T
        for (name, graph), (least, median, most) in zip(graphs.items(), quartiles, strict=True):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                held = "{:.0f} and {:.0f} MB".format(*alone.submit(memory, graph).result())
            print(f"{name}: {median:.2f} ({least:.2f} to {most:.2f}) times as long, {held}", flush=True)
