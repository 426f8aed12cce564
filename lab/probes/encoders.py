"""How each kind of encoder is exported, how exact and how fast: python -m lab.probes.encoders [--checkpoint FOLDER]

Models of a small true shape with random weights: how far vectors are from transformers' in fp32 and in int8, alone and
in a batch. Then tokens a second of one processor, in process, of the exported graph as Triton runs it, of OpenVINO with
optimum's plain graph, and of torch, both with texts sorted by length and padded in batches of 32 as
sentence-transformers does. With
``--checkpoint``, sentence-transformers itself, if it is installed, with that checkpoint's real weights.
"""

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import openvino
import torch
from numpy.typing import NDArray
from transformers import AutoConfig, AutoModel, logging

from frontend.catalogue.models import EMBEDDINGS, Model
from scripts.benchmark.common.sentences import sentences
from scripts.export_models import text_optimum
from scripts.export_models.checkpoints import PACKED_TYPES, SourceError, check_model, hidden_width, usable_positions
from scripts.export_models.precisions import text_precisions
from scripts.export_models.progress import SILENT
from scripts.export_models.text import TextModel, load, session, write
from scripts.export_models.text_graph import embedder, trained
from scripts.export_models.text_int8 import calibrate

_SHAPE = {
    "hidden_size": 384,
    "num_hidden_layers": 2,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "vocab_size": 3000,
    "max_position_embeddings": 514,
    "pad_token_id": 1,
}
_DEBERTA = {
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 256,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pooler_hidden_size": 384,
}
# Each type with checkpoints of it, and what it names otherwise.
_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("MiniLM, BGE, E5, GTE, mxbai", {}),
    "xlm-roberta": ("M3, multilingual E5, Arctic 2", {}),
    "mpnet": ("all-mpnet-base, paraphrase-mpnet", {}),
    "modernbert": ("GTE ModernBERT, Nomic ModernBERT", {"global_attn_every_n_layers": 2, "local_attention": 128}),
    "deberta-v2": ("DeBERTa 3, mxbai-rerank", _DEBERTA),
    "distilbert": ("msmarco-distilbert", {"dim": 384, "n_layers": 2, "n_heads": 12, "hidden_dim": 1536}),
    "roberta": ("all-distilroberta, stsb-roberta", {}),
    "camembert": ("French sentence models", {}),
    "electra": ("ms-marco-electra", {"embedding_size": 128}),
    "albert": ("paraphrase-albert", {"embedding_size": 128}),
    "data2vec-text": ("data2vec", {}),
    "roformer": ("Chinese sentence models", {"embedding_size": 384}),
    "rembert": ("RemBERT", {"input_embedding_size": 128, "output_embedding_size": 128}),
}
# Types with code of their own, which the export refuses by a sentence.
_REFUSED = {"new": "GTE 1.5", "nomic_bert": "Nomic 1 and 2", "xlm-roberta-flash": "Jina 3"}
_LENGTHS = (1, 12, 60, 300)
_TIMED = ("bert", "mpnet", "modernbert")
_TEXTS, _BATCH, _ROUNDS = 128, 32, 3
# One thread's processor time: how busy the machine is hardly changes it.
_THREADS = 1

Ids = NDArray[np.int32]
Rows = NDArray[np.float32]
Run = Callable[[Sequence[Ids]], Any]


def _model(kind: str) -> Any:
    config = AutoConfig.for_model(kind)
    for name, value in {**_SHAPE, **_KINDS[kind][1]}.items():
        setattr(config, name, value)
    torch.manual_seed(0)
    return AutoModel.from_config(config).float().eval()


def _texts(lengths: Sequence[int], words: int) -> list[Ids]:
    rng = np.random.default_rng(0)
    return [rng.integers(5, words, length).astype(np.int32) for length in lengths]


def _vector(model: Any, text: Ids) -> Rows:
    with torch.inference_mode():
        hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0]
    vector: Rows = torch.nn.functional.normalize(hidden.mean(0), dim=0).numpy()
    return vector


def _graph(model: Any, kind: str, precision: Any, texts: Sequence[Ids]) -> Any:
    """Ours where the architecture has one, else optimum's."""
    if kind not in PACKED_TYPES:
        return text_optimum.embedder(model, "mean")
    inputs = calibrate(model, list(texts)) if precision == "int8" else {}
    return embedder(trained(model, inputs, SILENT), precision, "mean")


def compared(kind: str, folder: Path) -> list[str]:
    """The cells of a type: way, and how far its vectors are."""
    model, texts = _model(kind), _texts(_LENGTHS, _SHAPE["vocab_size"])
    wanted, cells = np.stack([_vector(model, text) for text in texts]), []
    for precision in ("fp32", "int8" if kind in PACKED_TYPES else "bf16"):
        where = folder / f"{kind}-{precision}"
        where.mkdir()
        write(_graph(model, kind, precision, texts), precision, where, max_tokens=512)
        run = session(where, _THREADS)
        together, alone = run(texts), np.concatenate([run([text]) for text in texts])
        if precision == "fp32":
            cells = [f"{np.abs(together - wanted).max():.0e}", f"{np.abs(together - alone).max():.0e}"]
        else:
            cells.append(f"{precision} {max(0, 1 - (together * wanted).sum(axis=1).min()):.0e}")
    return ["ours, packed" if kind in PACKED_TYPES else "optimum's", *cells]


# Speed


def _padded(texts: Sequence[Ids], run: Callable[[NDArray[np.int64], NDArray[np.int64]], Any]) -> None:
    """Sorted by length, in batches, as sentence-transformers does."""
    ordered = sorted(texts, key=len)
    for at in range(0, len(ordered), _BATCH):
        batch = ordered[at : at + _BATCH]
        ids = np.ones((len(batch), max(map(len, batch))), np.int64)
        mask = np.zeros_like(ids)
        for row, text in enumerate(batch):
            ids[row, : len(text)], mask[row, : len(text)] = text, 1
        run(ids, mask)


def _by_torch(model: Any) -> Run:
    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> None:
        with torch.inference_mode():
            model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))

    return lambda texts: _padded(texts, run)


def _by_openvino(model: Any, folder: Path) -> Run:
    from optimum.exporters.onnx import onnx_export_from_model

    onnx_export_from_model(model, folder, task="feature-extraction", opset=18, do_validation=False)
    options = {"INFERENCE_NUM_THREADS": _THREADS, "PERFORMANCE_HINT": "LATENCY"}
    compiled = openvino.Core().compile_model(folder / "model.onnx", "CPU", options)
    names = {port.any_name for port in compiled.inputs}

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> None:
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        compiled({name: array for name, array in given.items() if name in names})

    return lambda texts: _padded(texts, run)


def timed(sides: dict[str, Callable[[], Any]], tokens: int) -> list[str]:
    """Tokens a second of each on one processor, the median of rounds in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for at in range(_ROUNDS + 1):
        for name, work in sides.items():
            started = time.process_time()
            work()
            # The first round compiles.
            seconds[name] += [time.process_time() - started] if at else []
    return [f"{name} {tokens / median(some):,.0f}" for name, some in seconds.items()]


def _line(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def random_shapes(folder: Path, kinds: Sequence[str]) -> None:
    for kind in kinds:
        _line(f"{kind} ({_KINDS[kind][0]})", *compared(kind, folder))
    for kind, examples in _REFUSED.items():
        (folder / "config.json").write_text(f'{{"model_type": "{kind}", "auto_map": {{}}}}', encoding="utf-8")
        (folder / "tokenizer.json").write_text('{"a": 1}', encoding="utf-8")
        try:
            check_model(folder, "text")
        except SourceError as error:
            _line(f"{kind} ({examples})", f"refused: {str(error).partition('describes ')[2].partition(';')[0]}")
    lengths = np.random.default_rng(1).integers(8, 200, _TEXTS)
    texts = _texts(lengths.tolist(), _SHAPE["vocab_size"])
    for kind in (kind for kind in _TIMED if kind in kinds):
        model = _model(kind)
        plain = folder / f"{kind}-plain"
        plain.mkdir()
        served = session(folder / f"{kind}-{'int8' if kind in PACKED_TYPES else 'bf16'}", _THREADS)
        sides = {"exported": served, "OpenVINO": _by_openvino(model, plain), "torch": _by_torch(model)}
        _line(kind, *timed({name: partial(run, texts) for name, run in sides.items()}, int(lengths.sum())))


def real_weights(checkpoint: Path, folder: Path) -> None:
    width, positions = hidden_width(checkpoint), usable_positions(checkpoint)
    model: TextModel = load(Model("own", EMBEDDINGS, 0, "added_own", positions, width), checkpoint)
    precision = text_precisions("int8" if model.is_packed else "bf16")[0]
    for each in ("fp32", precision):
        (folder / each).mkdir()
        calibration = calibrate(model.original, model.calibration, SILENT) if each == "int8" else {}
        graph = model.graph(trained(model.original, calibration), each) if model.is_packed else model.padded_graph()
        write(graph, each, folder / each, max_tokens=positions)
    texts = model.held_out
    wanted = np.stack([model.answer(ids) for ids in texts])
    exact, fast = (session(folder / each, _THREADS) for each in ("fp32", precision))
    turned = 1 - (fast(texts) * wanted).sum(axis=1).min()
    _line(checkpoint.name, f"fp32 {np.abs(exact(texts) - wanted).max():.0e}", f"{precision} {max(0, turned):.0e}")
    said = [text for _, text in sentences("en")][:_TEXTS]
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    tokenizer.no_padding()

    def ids() -> list[Ids]:
        return [np.array(each.ids, np.int32) for each in tokenizer.encode_batch(said)]

    plain = folder / "plain"
    plain.mkdir()
    by_openvino = _by_openvino(model.original, plain)
    sides: dict[str, Callable[[], Any]] = {"exported": lambda: fast(ids()), "OpenVINO": lambda: by_openvino(ids())}
    if importlib.util.find_spec("sentence_transformers"):
        encoder = importlib.import_module("sentence_transformers").SentenceTransformer(str(checkpoint), device="cpu")
        sides["sentence-transformers"] = lambda: encoder.encode(said, batch_size=_BATCH)
    _line(checkpoint.name, *timed(sides, sum(map(len, ids()))))


def main() -> None:
    parser = argparse.ArgumentParser(description="Exports of encoders: the way taken, exactness, speed.")
    parser.add_argument("--checkpoint", type=Path, help="a folder with real weights, instead of random models")
    parser.add_argument("--only", action="append", choices=_KINDS, help="this kind of random model")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.set_verbosity_error()
    torch.set_num_threads(_THREADS)
    with TemporaryDirectory() as folder:
        if arguments.checkpoint:
            real_weights(arguments.checkpoint, Path(folder))
        else:
            random_shapes(Path(folder), arguments.only or list(_KINDS))


if __name__ == "__main__":
    main()
