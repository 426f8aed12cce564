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
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from frontend.catalogue.models import EMBEDDINGS
from scripts.export_models.checkpoints import SourceError, read_json
from scripts.export_models.parity import Check, not_checked
from scripts.export_models.precisions import by_speed, text_precisions
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.text import calibration, checks, fp16, model_folder, models, speeds
from scripts.export_models.text.checks import Ids
from scripts.export_models.text.encoder import Precision
from scripts.export_models.text.models import Trained
from scripts.export_models.text.promised import PROMISES, check_promise, usable_positions
from scripts.export_models.ways import Way
from scripts.machine import processors

Build = Callable[[Trained, Precision], onnx.ModelProto]
Reference = Callable[[NDArray[np.int32]], NDArray[np.float32]]


@dataclass(frozen=True)
class TextExport:
    """A text model to export: the ``original`` in ``transformers``, and how its graph is built.

    ``reference`` is the original's answer to a text's token ids. The ids of texts are for ``calibration``, for
    comparisons at every length, and ``held_out`` of the calibration.
    """

    name: str
    original: Any
    build: Build
    reference: Reference
    calibration: Ids
    of_every_length: Ids
    held_out: Ids


def ways(
    name: str, source: Path, target: Path, precision: str, progress: Progress = SILENT, work: Path = Path()
) -> list[Way]:
    """The ways to write a text model's graph, tokenizer and settings into ``target``, beginning with ``precision``.

    What is measured for ``auto`` is kept in the folder ``work``.
    """
    check_promise(name, source)
    return ways_of(lambda: _model(name, source), source, target, precision, progress, work)


def ways_of(
    model: Callable[[], TextExport],
    source: Path,
    target: Path,
    precision: str,
    progress: Progress = SILENT,
    work: Path = Path(),
) -> list[Way]:
    """The ways to export a ``model``, which is loaded when the first way begins."""
    loaded = cache(model)
    tried, why = _chosen(precision, source, progress, work / "speeds.json")

    def way(precision: Precision) -> Way:
        return Way(precision, lambda: _export(loaded(), source, target, precision, progress), why)

    return [way(cast("Precision", each)) for each in tried]


def _chosen(wanted: str, source: Path, progress: Progress, memory: Path) -> tuple[list[str], str]:
    """The precisions to try, and what was measured if that decided."""
    possible = text_precisions(wanted)
    if wanted != "auto" or len(possible) == 1:
        return possible, ""
    progress.step("measuring precisions", 0, 1)
    precisions = [cast("Precision", each) for each in possible]
    seconds = speeds.remembered(memory, AutoConfig.from_pretrained(source), precisions)
    return by_speed(seconds), ", ".join(f"{each} {1000 * took:.0f} ms" for each, took in seconds.items())


def _model(name: str, source: Path) -> TextExport:
    if PROMISES[name].operation == EMBEDDINGS:
        return _embedder(name, source)
    if "SequenceClassification" in read_json(source / "config.json")["architectures"][0]:
        return _reranker(name, source)
    return _cosine_reranker(name, source)


def write(name: str, graph: onnx.ModelProto, precision: Precision, source: Path, target: Path) -> None:
    """Write the graph of the model ``name``, its settings and the tokenizer of its checkpoint into ``target``."""
    model_folder.write(graph, precision, target, max_tokens=PROMISES[name].max_tokens)
    shutil.copy(source / "tokenizer.json", target / "tokenizer.json")


def _export(model: TextExport, source: Path, target: Path, precision: Precision, progress: Progress) -> list[Check]:
    int8 = precision == "int8"
    calibrated = calibration.calibrate(model.original.base_model, model.calibration, progress) if int8 else {}
    trained = models.checkpoint_of(model.original, calibrated, progress)
    # A name for the graph would keep its weights in memory.
    write(model.name, model.build(trained, precision), precision, source, target)
    calibrated.clear()
    texts = model.of_every_length if precision == "fp32" else model.held_out
    wanted = np.stack([model.reference(text) for text in progress.over(texts, "computing the original's answers")])
    if precision == "fp16":
        found = fp16.parity(model.name, target / "model.onnx", texts, wanted, processors())
        return [*found, not_checked(model.name, "fp16: on CUDA itself")]
    run = model_folder.session(target, processors())
    alone = checks.batch_invariant(model.name, run, model.of_every_length)
    if precision == "fp32":
        return [alone, checks.exact(model.name, run, texts, wanted)]
    return [alone, *checks.close(model.name, checks.INT8 if int8 else checks.BF16, run, texts, wanted)]


def _text_export(
    name: str, source: Path, original: Any, build: Build, reference: Reference, *, calibrate_pairs: bool
) -> TextExport:
    """An export with the texts that its checks and its calibration need, by the tokenizer of ``source``."""
    tokenizer, positions = AutoTokenizer.from_pretrained(source), usable_positions(source)
    pairs = PROMISES[name].operation != EMBEDDINGS

    def tokenised(lines: list[str], *, pairs: bool) -> Ids:
        texts = _pairs(lines) if pairs else [(line,) for line in lines]
        return [np.array(tokenizer(*text, truncation=True, max_length=positions).input_ids, np.int32) for text in texts]

    return TextExport(
        name,
        original,
        build,
        reference,
        tokenised(calibration.texts(), pairs=calibrate_pairs),
        checks.of_every_length(tokenizer, positions, pair=pairs),
        tokenised(calibration.held_out(), pairs=pairs),
    )


def _pairs(lines: list[str]) -> list[tuple[str, ...]]:
    """Each line with the next, which are unrelated, and the halves of each, which are related."""
    return [*zip(lines, lines[1:], strict=False), *((line[: len(line) // 2], line[len(line) // 2 :]) for line in lines)]


def _embedder(name: str, source: Path) -> TextExport:
    model, pooling, width = AutoModel.from_pretrained(source).float().eval(), pooling_of(source), PROMISES[name].width

    def reference(text: NDArray[np.int32]) -> NDArray[np.float32]:
        vector = _vector(model, pooling, text)
        return np.pad(vector, (0, width - len(vector)))

    def build(trained: Trained, precision: Precision) -> onnx.ModelProto:
        return models.embedder(trained, precision, pooling, width)

    return _text_export(name, source, model, build, reference, calibrate_pairs=False)


def _vector(model: Any, pooling: models.Pooling, text: NDArray[np.int32]) -> NDArray[np.float32]:
    """The original's vector of a text's token ids, FP32 [width]."""
    with torch.inference_mode():
        hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0]
    pooled = hidden[0] if pooling == "cls" else hidden.mean(0)
    vector: NDArray[np.float32] = torch.nn.functional.normalize(pooled, dim=0).numpy()
    return vector


def pooling_of(source: Path) -> models.Pooling:
    """How a checkpoint pools, from the file of sentence-transformers; without one as M3, by the first token."""
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


def _reranker(name: str, source: Path) -> TextExport:
    model = AutoModelForSequenceClassification.from_pretrained(source).float().eval()

    def reference(pair: NDArray[np.int32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            logits = model(input_ids=torch.from_numpy(pair.astype(np.int64))[None]).logits
        return np.array(torch.sigmoid(logits[0, 0]).item(), np.float32)

    return _text_export(name, source, model, models.reranker, reference, calibrate_pairs=True)


def _cosine_reranker(name: str, source: Path) -> TextExport:
    """An encoder without a classification head."""
    model, pooling, score = AutoModel.from_pretrained(source).float().eval(), pooling_of(source), _pair_score(source)

    def reference(pair: NDArray[np.int32]) -> NDArray[np.float32]:
        end = pair.tolist().index(score.separator) + 1
        right = np.append(np.int32(score.start), pair[end + 1 :])
        cosine = _vector(model, pooling, pair[:end]) @ _vector(model, pooling, right)
        return np.array(score.of(float(cosine)), np.float32)

    def build(trained: Trained, precision: Precision) -> onnx.ModelProto:
        return models.cosine_reranker(trained, precision, pooling, score)

    # The encoder gets the texts of a pair one by one, so it is calibrated on single texts.
    return _text_export(name, source, model, build, reference, calibrate_pairs=False)


def _pair_score(source: Path) -> models.PairScore:
    """How the ``quartet.json`` of a checkpoint makes a score of a cosine."""
    settings, tokenizer = read_json(source / "quartet.json"), AutoTokenizer.from_pretrained(source)
    if "cosine_score" not in settings:
        raise SourceError(f"{source} has no classification head, and its quartet.json no cosine_score")
    return models.PairScore(**settings["cosine_score"], start=tokenizer.cls_token_id, separator=tokenizer.sep_token_id)
