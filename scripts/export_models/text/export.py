"""Export the embedder and the reranker, and compare both with the Hugging Face models they come from."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from frontend.catalogue.models import EMBEDDINGS
from scripts.export_models.checkpoints import SourceError, read_json
from scripts.export_models.parity import Check, not_checked
from scripts.export_models.precisions import text_precisions
from scripts.export_models.progress import ALONE, Conditions, Progress
from scripts.export_models.text import calibration, checks, fp16, model_folder, models
from scripts.export_models.text.calibration import Calibration, calibrate
from scripts.export_models.text.checks import Ids, Run
from scripts.export_models.text.encoder import Precision
from scripts.export_models.text.promised import PROMISES, check_promise, usable_positions
from scripts.export_models.ways import Way


@dataclass(frozen=True)
class TextExport:
    """A model on its way into the repository: its graph in any precision, and the original to compare it with."""

    name: str
    graph: Callable[[Precision, Calibration, Progress], onnx.ModelProto]
    calibration: Callable[[Progress], Calibration]
    reference: Callable[[NDArray[np.int32]], NDArray[np.float32]]
    of_every_length: Ids
    held_out: Ids


def ways(name: str, source: Path, target: Path, precision: str, conditions: Conditions = ALONE) -> list[Way]:
    """How to write the graph and the tokenizer of a text model into ``target``, the best way of a precision first."""
    check_promise(name, source)
    return ways_of(lambda: _model(name, source), source, target, precision, conditions)


def ways_of(
    model: Callable[[], TextExport], source: Path, target: Path, precision: str, conditions: Conditions = ALONE
) -> list[Way]:
    """The same of a ``model``, which is made when the first way begins."""
    made = cache(model)

    def way(its: Precision) -> Way:
        return Way(its, lambda: _export(made(), source, target, its, conditions))

    return [way(cast("Precision", each)) for each in text_precisions(precision)]


def _model(name: str, source: Path) -> TextExport:
    """A checkpoint that is an encoder without a head gives the demo's reranker."""
    if PROMISES[name].operation == EMBEDDINGS:
        return _embedder(name, source)
    trained = "SequenceClassification" in read_json(source / "config.json")["architectures"][0]
    return _reranker(name, source) if trained else _demo_reranker(name, source)


def write(name: str, graph: onnx.ModelProto, precision: Precision, source: Path, target: Path) -> None:
    """Put the graph of the model ``name``, the tokenizer of its checkpoint and its settings into ``target``."""
    model_folder.write(graph, precision, target, max_tokens=PROMISES[name].max_tokens)
    shutil.copy(source / "tokenizer.json", target / "tokenizer.json")


def _export(model: TextExport, source: Path, target: Path, precision: Precision, conditions: Conditions) -> list[Check]:
    progress = conditions.progress
    calibrated = model.calibration(progress) if precision == "int8" else {}
    # No name is given to the graph, which would keep its weights in memory.
    write(model.name, model.graph(precision, calibrated, progress), precision, source, target)
    calibrated.clear()
    wanted = _wanted(model, model.of_every_length if precision == "fp32" else model.held_out, progress)
    if precision == "fp16":
        found = fp16.parity(model.name, target / "model.onnx", model.held_out, wanted, conditions.threads)
        return [*found, not_checked(model.name, "fp16: on CUDA itself")]
    return _compared(model, model_folder.session(target, conditions.threads), precision, wanted)


def _wanted(model: TextExport, texts: Ids, progress: Progress) -> NDArray[np.float32]:
    return np.stack([model.reference(text) for text in progress.over(texts, "computing the original's answers")])


def _compared(model: TextExport, run: Run, precision: Precision, wanted: NDArray[np.float32]) -> list[Check]:
    """What a text model is held to on this processor; ``wanted`` are the original's answers."""
    alone = checks.batch_invariant(model.name, run, model.of_every_length)
    if precision == "fp32":
        return [alone, checks.exact(model.name, run, model.of_every_length, wanted)]
    limits = checks.INT8 if precision == "int8" else checks.BF16
    return [alone, *checks.close(model.name, limits, run, model.held_out, wanted)]


def pooling_of(source: Path) -> models.Pooling:
    """How a checkpoint makes one vector of a text's, as sentence-transformers writes it down; M3 takes the first."""
    path = source / "1_Pooling" / "config.json"
    if not path.is_file():
        return "cls"
    settings = json.loads(path.read_text(encoding="utf-8"))
    chosen = {name for name, on in settings.items() if name.startswith("pooling_mode_") and on}
    if chosen == {"pooling_mode_mean_tokens"}:
        return "mean"
    if chosen == {"pooling_mode_cls_token"}:
        return "cls"
    raise SourceError(f"{path} asks for a pooling that is neither the first token nor the mean: {sorted(chosen)}")


def _tokenised(tokenizer: Any, texts: list[tuple[str, ...]], longest: int) -> Ids:
    return [np.array(tokenizer(*text, truncation=True, max_length=longest).input_ids, np.int32) for text in texts]


def _singles(lines: list[str]) -> list[tuple[str, ...]]:
    return [(line,) for line in lines]


def _pairs(lines: list[str]) -> list[tuple[str, ...]]:
    """Each line with the next, which have little in common, and the halves of each, which have much."""
    return [*zip(lines, lines[1:], strict=False), *((line[: len(line) // 2], line[len(line) // 2 :]) for line in lines)]


def _embedder(name: str, source: Path) -> TextExport:
    model, tokenizer = AutoModel.from_pretrained(source).float().eval(), AutoTokenizer.from_pretrained(source)
    positions, pooling, width = usable_positions(source), pooling_of(source), PROMISES[name].width

    def reference(text: NDArray[np.int32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0]
        pooled = hidden[0] if pooling == "cls" else hidden.mean(0)
        vector = torch.nn.functional.normalize(pooled, dim=0).numpy()
        return np.pad(vector, (0, width - len(vector)))

    return TextExport(
        name,
        lambda precision, found, progress: models.embedder(
            models.checkpoint_of(model, found, progress), precision, pooling, width
        ),
        lambda progress: calibrate(model, _tokenised(tokenizer, _singles(calibration.texts()), positions), progress),
        reference,
        checks.of_every_length(tokenizer, positions, pair=False),
        _tokenised(tokenizer, _singles(calibration.held_out()), positions),
    )


def _reranker(name: str, source: Path) -> TextExport:
    model = AutoModelForSequenceClassification.from_pretrained(source).float().eval()
    tokenizer, positions = AutoTokenizer.from_pretrained(source), usable_positions(source)

    def reference(text: NDArray[np.int32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            logits = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).logits
        return np.array(torch.sigmoid(logits[0, 0]).item(), np.float32)

    return TextExport(
        name,
        lambda precision, found, progress: models.reranker(models.checkpoint_of(model, found, progress), precision),
        lambda progress: calibrate(
            model.base_model, _tokenised(tokenizer, _pairs(calibration.texts()), positions), progress
        ),
        reference,
        checks.of_every_length(tokenizer, positions, pair=True),
        _tokenised(tokenizer, _pairs(calibration.held_out()), positions),
    )


def _demo_reranker(name: str, source: Path) -> TextExport:
    model, tokenizer = AutoModel.from_pretrained(source).float().eval(), AutoTokenizer.from_pretrained(source)
    start, separator, positions = (tokenizer.cls_token_id, tokenizer.sep_token_id, usable_positions(source))

    def mean(ids: list[int]) -> torch.Tensor:
        with torch.inference_mode():
            hidden = model(input_ids=torch.tensor(ids)[None]).last_hidden_state[0].mean(0)
        return torch.nn.functional.normalize(hidden, dim=0)

    def reference(text: NDArray[np.int32]) -> NDArray[np.float32]:
        ids = text.tolist()
        cut = ids.index(separator)
        cosine = mean(ids[: cut + 1]) @ mean([start, *ids[cut + 1 :]])
        return np.array(models.demo_score(cosine.item()), np.float32)

    def graph(precision: Precision, found: Calibration, progress: Progress) -> onnx.ModelProto:
        its = models.checkpoint_of(model, found, progress)
        return models.demo_reranker(its, start, separator, precision)

    return TextExport(
        name,
        graph,
        # The encoder is given the halves of a pair, each as a text by itself.
        lambda progress: calibrate(model, _tokenised(tokenizer, _singles(calibration.texts()), positions), progress),
        reference,
        checks.of_every_length(tokenizer, positions, pair=True),
        _tokenised(tokenizer, _pairs(calibration.held_out()), positions),
    )
