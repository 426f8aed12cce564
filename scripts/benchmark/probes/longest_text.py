"""What the longest text takes of a model of M3's size: python -m scripts.benchmark.probes.longest_text

Told are seconds, and the memory of everything in the process. The weights are random: speed does not depend on them.
"""

import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from scripts.benchmark.lookalikes import text
from scripts.benchmark.lookalikes.repository import packed_graph
from scripts.export_models.text.encoder import Precision
from scripts.export_models.text.model_folder import session, write
from scripts.export_models.text.promised import PROMISES
from scripts.machine import held_bytes

_MOST_TOKENS = PROMISES["m3_embedder"].max_tokens
_PRECISIONS: tuple[Precision, ...] = ("fp32", "int8")
_LAYERS, _THREADS = 24, 2


def measure(folder: Path) -> tuple[float, float]:
    """Seconds that one text of 8192 tokens takes, and the most memory in GiB that this process has had."""
    ids = [np.random.default_rng(0).integers(10, text.WORDS, _MOST_TOKENS).astype(np.int32)]
    run = session(folder, _THREADS)
    started = time.perf_counter()
    run(ids)
    seconds = time.perf_counter() - started
    # Not getrusage, which goes on counting what the parent had before it started this process.
    return seconds, held_bytes("VmHWM") / 2**30


if __name__ == "__main__":
    model = text.model(_LAYERS)
    for precision in _PRECISIONS:
        with tempfile.TemporaryDirectory() as folder:
            write(packed_graph(model, precision), precision, Path(folder))
            # A process of its own: the making of the model must not count.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                seconds, gib = alone.submit(measure, Path(folder)).result()
        print(f"{precision}: {_MOST_TOKENS} tokens in {seconds:.1f} s with {gib:.2f} GiB", flush=True)
