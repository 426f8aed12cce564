"""The packed graph of a model of M3's size against a padded one of the same weights, in one process.

python -m scripts.benchmark.probes.packed_text --runs 5
python -m scripts.benchmark.probes.packed_text --longest

The weights are random: speed does not depend on them. The padded side is Hugging Face's model in torch on texts sorted
by length, in batches of 8, which is what sentence-transformers does. The runs alternate; the ratios are of medians.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import XLMRobertaModel

from scripts.benchmark.common.summary import Spread
from scripts.benchmark.lookalikes import text
from scripts.benchmark.lookalikes.repository import packed_graph
from scripts.export_models.graphs.builder import save
from scripts.export_models.text.checks import session
from scripts.export_models.text.encoder import Precision
from scripts.export_models.text.promised import PROMISES

_PADDED_BATCH = 8
_MOST_TOKENS = PROMISES["m3_embedder"].max_tokens
_PRECISIONS: tuple[Precision, ...] = ("fp32", "int8")

Ids = list[NDArray[np.int32]]
Encode = Callable[[Ids], NDArray[np.float32]]


def texts(count: int, seed: int) -> Ids:
    """Token ids of ``count`` texts."""
    rng = np.random.default_rng(seed)
    return [rng.integers(10, text.WORDS, length).astype(np.int32) for length in text.lengths(rng, count)]


def padded(model: XLMRobertaModel) -> Encode:
    """Vectors from torch: sorted by length, padded in batches."""

    def encode(ids: Ids) -> NDArray[np.float32]:
        vectors = np.zeros((len(ids), 1024), np.float32)
        order = sorted(range(len(ids)), key=lambda at: -len(ids[at]))
        for start in range(0, len(ids), _PADDED_BATCH):
            batch = order[start : start + _PADDED_BATCH]
            longest = max(len(ids[at]) for at in batch)
            filled = torch.ones(len(batch), longest, dtype=torch.int64)
            mask = torch.zeros_like(filled)
            for row, at in enumerate(batch):
                filled[row, : len(ids[at])] = torch.from_numpy(ids[at].astype(np.int64))
                mask[row, : len(ids[at])] = 1
            with torch.inference_mode():
                first = model(input_ids=filled, attention_mask=mask).last_hidden_state[:, 0]
            vectors[batch] = torch.nn.functional.normalize(first, dim=1).numpy()
        return vectors

    return encode


def export(model: XLMRobertaModel, precision: Precision, folder: Path) -> Path:
    """Write our graph of the model."""
    path = folder / precision / "model.onnx"
    path.parent.mkdir()
    save(packed_graph(model, precision), path)
    return path


def longest(path: Path, threads: int) -> tuple[float, float]:
    """Seconds that one text of 8192 tokens takes, and the most memory in GiB that this process has had."""
    ids = [np.random.default_rng(0).integers(10, text.WORDS, _MOST_TOKENS).astype(np.int32)]
    seconds = _seconds(session(path, threads), ids)
    # Not getrusage, which goes on counting what the parent had before it started this process.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return seconds, int(status.partition("VmHWM:")[2].split()[0]) / 2**20


def _seconds(encode: Encode, ids: Ids) -> float:
    started = time.perf_counter()
    encode(ids)
    return time.perf_counter() - started


def _compare(sides: dict[str, Encode], ids: Ids, runs: int) -> None:
    tokens = sum(map(len, ids))
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(runs):
        for name, encode in sides.items():
            times[name].append(_seconds(encode, ids))
    slowest = next(iter(sides))
    for name, its in times.items():
        ratio = Spread.of_ratios(times[slowest], its)
        print(f"{name}: {tokens / median(its):.0f} tokens/s, {ratio:.2f} times {slowest}", flush=True)


def _loss(exact: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float((1 - (exact * other).sum(axis=1)).max())


def main() -> int:
    parser = argparse.ArgumentParser(description="Packed against padded, in one process.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--longest", action="store_true", help="only a text of 8192 tokens, and the memory it takes")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model = text.model(arguments.layers)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.longest:
            for precision in _PRECISIONS:
                path = export(model, precision, Path(folder))
                # A process of its own: the making of the model must not count.
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                    seconds, gib = alone.submit(longest, path, arguments.threads).result()
                print(f"{precision}: {_MOST_TOKENS} tokens in {seconds:.1f} s with {gib:.2f} GiB", flush=True)
            return 0
        sides: dict[str, Encode] = {"padded torch": padded(model)}
        for precision in _PRECISIONS:
            path = export(model, precision, Path(folder))
            sides[f"packed {precision}"] = session(path, arguments.threads)
        ids = texts(arguments.texts, 1)
        exact, fp32, int8 = (encode(ids) for encode in sides.values())
        print(f"1 - cosine to torch: fp32 {_loss(exact, fp32):.1e}, int8 {_loss(exact, int8):.1e}", flush=True)
        _compare(sides, ids, arguments.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
