"""Export the embedder and the reranker, and compare both with the Hugging Face models they come from."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from scripts.export_models import text_models
from scripts.export_models.encoder import Precision
from scripts.export_models.graph import save
from scripts.export_models.parity import Check

LONGEST_TEXT = 8192
_LENGTHS = (3, 4, 7, 16, 60, 129, 500, 2048, LONGEST_TEXT)
_FP32_LIMIT = 1e-5
_INT8_LIMIT = 1e-3
_COMPANY_LIMIT = 1e-5

Ids = list[NDArray[np.int32]]
Run = Callable[[Ids], NDArray[np.float32]]


def session(path: Path, threads: int = 2) -> Run:
    """A packed graph as a function from the token ids of texts to one row a text."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    loaded = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(texts: Ids) -> NDArray[np.float32]:
        lengths = np.array([len(text) for text in texts], np.int32)
        (rows,) = loaded.run(None, {"input_ids": np.concatenate(texts), "lengths": lengths})
        result: NDArray[np.float32] = rows
        return result

    return run


def _random_texts(tokenizer: Any, longest: int, pair: bool) -> Ids:
    """Token ids of every length in turn, framed by the tokenizer's own special tokens."""
    rng = np.random.default_rng(20)
    framed = tokenizer("a", "b").input_ids if pair else tokenizer("a").input_ids
    special = set(tokenizer.all_special_ids)
    ordinary = np.array([i for i in range(len(tokenizer)) if i not in special])
    slots = [place for place, token in enumerate(framed) if token not in special]
    texts = []
    for length in _LENGTHS:
        if len(framed) <= length <= longest:
            missing = length - len(framed) + len(slots)
            first = slots[0]
            filler = rng.choice(ordinary, missing - (len(slots) - 1))
            text = [*framed[:first], *filler.tolist(), *framed[first + 1 :]]
            texts.append(np.array(text, np.int32))
    return texts


def _company(run: Run, texts: Ids) -> float:
    """The largest change of a row between travelling alone and with all the others."""
    together = run(texts)
    return max(float(np.abs(run([text])[0] - row).max()) for text, row in zip(texts, together, strict=True))


def _write_tokenizer(source: Path, target: Path) -> None:
    shutil.copy(source / "tokenizer.json", target / "tokenizer.json")
    settings = json.dumps({"max_tokens": LONGEST_TEXT}, indent=1)
    (target / "quartet.json").write_text(settings + "\n", encoding="utf-8")


def _export(
    name: str,
    model: onnx.ModelProto,
    source: Path,
    target: Path,
    precision: Precision,
    reference: Callable[[NDArray[np.int32]], NDArray[np.float32]],
    *,
    positions: int,
    pair: bool,
) -> list[Check]:
    save(model, target / "model.onnx")
    _write_tokenizer(source, target)
    if precision == "fp16":
        # PackedMultiHeadAttention exists on CUDA alone, so there is nothing to run on this machine.
        return []
    run = session(target / "model.onnx")
    texts = _random_texts(AutoTokenizer.from_pretrained(source), positions, pair)
    wanted = np.stack([reference(text) for text in texts])
    got = run(texts)
    checks = [Check(name, "text alone and in company", _company(run, texts), _COMPANY_LIMIT)]
    if precision == "int8" and got.ndim == 2:
        lengths = np.linalg.norm(got, axis=1) * np.linalg.norm(wanted, axis=1)
        loss = float((1 - (got * wanted).sum(axis=1) / lengths).max())
        checks.append(Check(name, "int8: 1 - cosine to fp32", loss, _INT8_LIMIT))
    else:
        limit = _FP32_LIMIT if precision == "fp32" else 5e-2
        what = f"{precision}: {len(texts)} texts to {max(map(len, texts))} tokens"
        checks.append(Check(name, what, float(np.abs(got - wanted).max()), limit))
    return checks


def _pooling(source: Path) -> text_models.Pooling:
    path = source / "1_Pooling" / "config.json"
    if path.is_file() and json.loads(path.read_text(encoding="utf-8"))["pooling_mode_mean_tokens"]:
        return "mean"
    return "cls"


def _usable_positions(config: Any) -> int:
    return int(config.max_position_embeddings) - (2 if config.model_type == "xlm-roberta" else 0)


def export_embedder(source: Path, target: Path, precision: Precision) -> list[Check]:
    """Write ``model.onnx`` and the tokenizer of ``m3_embedder`` into ``target``."""
    model = AutoModel.from_pretrained(source).float().eval()
    pooling = _pooling(source)

    def reference(text: NDArray[np.int32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0]
        pooled = hidden[0] if pooling == "cls" else hidden.mean(0)
        vector = np.zeros(text_models.EMBEDDING_WIDTH, np.float32)
        vector[: len(pooled)] = torch.nn.functional.normalize(pooled, dim=0).numpy()
        return vector

    graph = text_models.embedder(text_models.checkpoint_of(model), precision, pooling)
    positions = _usable_positions(model.config)
    return _export("m3_embedder", graph, source, target, precision, reference, positions=positions, pair=False)


def export_reranker(source: Path, target: Path, precision: Precision) -> list[Check]:
    """Write ``model.onnx`` and the tokenizer of ``m3_reranker``; an encoder without a head gives the demo's."""
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    if "SequenceClassification" not in config["architectures"][0]:
        return _export_demo_reranker(source, target, precision)
    model = AutoModelForSequenceClassification.from_pretrained(source).float().eval()

    def reference(text: NDArray[np.int32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            logits = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).logits
        return np.array(torch.sigmoid(logits[0, 0]).item(), np.float32)

    graph = text_models.reranker(text_models.checkpoint_of(model), precision)
    positions = _usable_positions(model.config)
    return _export("m3_reranker", graph, source, target, precision, reference, positions=positions, pair=True)


def _export_demo_reranker(source: Path, target: Path, precision: Precision) -> list[Check]:
    model = AutoModel.from_pretrained(source).float().eval()
    tokenizer = AutoTokenizer.from_pretrained(source)
    start, separator = tokenizer.cls_token_id, tokenizer.sep_token_id

    def mean(ids: list[int]) -> torch.Tensor:
        with torch.inference_mode():
            hidden = model(input_ids=torch.tensor(ids)[None]).last_hidden_state[0].mean(0)
        return torch.nn.functional.normalize(hidden, dim=0)

    def reference(text: NDArray[np.int32]) -> NDArray[np.float32]:
        ids = text.tolist()
        cut = ids.index(separator)
        cosine = mean(ids[: cut + 1]) @ mean([start, *ids[cut + 1 :]])
        return np.array(text_models.demo_score(cosine.item()), np.float32)

    graph = text_models.demo_reranker(text_models.checkpoint_of(model), start, separator, precision)
    positions = _usable_positions(model.config)
    return _export("m3_reranker", graph, source, target, precision, reference, positions=positions, pair=True)
