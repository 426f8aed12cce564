"""What each pass over a voice's graph gives, in time and memory, on look-alikes of two of Piper's qualities.

    python -m scripts.benchmark.voice_passes --rounds 25 --ids 100 --quality medium

A pass is left out of all, and put alone behind the one that the others need ("pictures"). Every round runs every graph
on each sentence once, on one thread, and counts its processor time; told are medians of the ratios. Memory is that of a
process of its own.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

from scripts.benchmark.lookalikes import voice
from scripts.export_models.graphs.sessions import Arrays, here
from scripts.export_models.voices.passes import PASSES, Pass

_QUALITIES = {"medium": voice.MEDIUM, "x_low": voice.X_LOW}
_SETTINGS = Path("model_repository/piper_amy/1/voice.json")
# In phoneme ids, 29 of which are a second.
_SENTENCES = (30, 100, 300)
_LONGEST = 300
_AS_EXPORTED, _ALL = "as exported", "all passes"


def choices() -> dict[str, Sequence[Pass]]:
    """The passes of each graph, by its name."""
    first, *others = PASSES
    chosen: dict[str, Sequence[Pass]] = {_AS_EXPORTED: (), _ALL: PASSES, first.name: (first,)}
    for one in others:
        chosen[f"{first.name}, {one.name}"] = (first, one)
        chosen[f"all but {one.name}"] = [each for each in PASSES if each is not one]
    return chosen


def write(folder: Path, quality: voice.Quality) -> dict[str, Path]:
    """The graph of each choice."""
    source = folder / "source.onnx"
    voice.write(source, _SETTINGS, quality)
    written = {}
    for name, passes in choices().items():
        model = onnx.load(source)
        for each in passes:
            each.rewrite(model)
        written[name] = folder / f"{name}.onnx"
        onnx.save(model, written[name])
    return written


def said(ids: int) -> Arrays:
    """The inputs of a sentence."""
    given = np.random.default_rng(ids).integers(1, 100, (1, ids))
    return {"input": given, "input_lengths": np.array([ids]), "scales": np.array([0.667, 1, 0.8], np.float32)}


def times(graphs: dict[str, Path], rounds: int, lengths: Sequence[int]) -> dict[str, list[list[float]]]:
    """By graph and sentence the milliseconds of each round, the first of which is left out."""
    sessions = {name: here(path, 1) for name, path in graphs.items()}
    found: dict[str, list[list[float]]] = {name: [[] for _ in lengths] for name in graphs}
    for _ in range(rounds + 1):
        for at, ids in enumerate(lengths):
            inputs = said(ids)
            for name, run in sessions.items():
                started = time.process_time()
                run(inputs)
                found[name][at].append(1000 * (time.process_time() - started))
    return {name: [each[1:] for each in sentences] for name, sentences in found.items()}


def memory(path: Path) -> tuple[float, float]:
    """Of a process with a graph, megabytes above one without: loaded, and at the most while it speaks."""
    code = "import sys; from scripts.benchmark.voice_passes import measure_memory; measure_memory(sys.argv[1])"
    output = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    loaded, spoken = json.loads(output)
    return loaded, spoken


def _megabytes(field: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def measure_memory(path: str) -> None:
    """Print what ``memory`` answers, as the process that holds the graph; patterns of memory as Triton is told."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.enable_mem_pattern = 1, False
    before = _megabytes("VmRSS")
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    loaded = _megabytes("VmRSS")
    session.run(None, said(_LONGEST))
    print(json.dumps([loaded - before, _megabytes("VmHWM") - before]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the passes over voices.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ids", type=int, action="append", help="a sentence of so many phoneme ids")
    parser.add_argument("--quality", choices=_QUALITIES, action="append")
    arguments = parser.parse_args()
    lengths = arguments.ids or _SENTENCES
    for name in arguments.quality or _QUALITIES:
        with tempfile.TemporaryDirectory() as folder:
            graphs = write(Path(folder), _QUALITIES[name])
            measured = times(graphs, arguments.rounds, lengths)
            print(
                f"\n{name}: sentences of {lengths} ids, times as long as with all passes; MB loaded, at the most",
                flush=True,
            )
            for graph, sentences in measured.items():
                pairs = zip(sentences, measured[_ALL], strict=True)
                ratios = [statistics.median(a / b for a, b in zip(*pair, strict=True)) for pair in pairs]
                shown = "  ".join(f"{ratio:5.2f}" for ratio in ratios)
                milliseconds = statistics.median(sentences[-1])
                loaded, most = memory(graphs[graph])
                size = graphs[graph].stat().st_size / 1e6
                print(
                    f"{graph:28} {shown}  {milliseconds:6.0f} ms  {loaded:4.0f} {most:4.0f} MB, file {size:.0f} MB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
