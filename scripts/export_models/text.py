"""Exports the embedder and the reranker: chooses precisions, loads a checkpoint, writes its graph and compares both.

``text_graph.py`` has the graph, ``text_int8.py`` its products in int8, ``text_checks.py`` the comparisons.
"""

import copy
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import openvino
import torch
from numpy.typing import NDArray
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from frontend.catalogue.models import EMBEDDINGS, Model
from scripts.export_models import text_checks, text_int8, text_optimum
from scripts.export_models.checkpoints import (
    TOKEN_HEAD,
    SourceError,
    check_promise,
    hidden_width,
    is_packed,
    read_json,
    usable_positions,
)
from scripts.export_models.onnx_graph import Linear, save
from scripts.export_models.parity import Check, not_checked
from scripts.export_models.precisions import FAST_INT8, Precision, by_speed, text_precisions
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.text_checks import Ids, Run, Weigh
from scripts.export_models.text_graph import (
    PairScore,
    Pooling,
    Trained,
    cosine_reranker,
    embedder,
    reranker,
    trained,
)
from scripts.export_models.triton_code import triton_module
from scripts.machine import processors

# The small model of which precisions are measured: two layers of the same shape, with random weights.
_LAYERS, _WORDS = 2, 1000
# Tokens of the texts of a run: as many together as a block that is served has.
_LENGTHS = (12, 24, 48, 96, 192, 384)
# Runs of each precision in turn, of which the fastest counts.
_ROUNDS = 15
# One thread's processor time: how busy the machine is hardly changes it.
_THREADS = 1


# The precisions


def precisions(wanted: str, source: Path, memory: Path, progress: Progress = SILENT) -> tuple[list[Precision], str]:
    """The precisions to try, in order, and what was measured for ``auto``, which the file ``memory`` keeps."""
    possible = text_precisions(wanted)
    if not is_packed(source):
        if possible == ["fp16"]:
            # On CUDA nothing cuts what Triton joins into blocks of similar lengths: a text of 8,192 tokens among 31
            # short ones would take 32 times its memory, which is the GPU's, and all of them would fail.
            raise SourceError(f"{source} has a graph that pads texts, which is for processors alone")
        # optimum's graph is in floating point. Triton computes it in bfloat16 too, where that is fast.
        return [each for each in possible if each in ("bf16", "fp32")], ""
    if wanted != "auto" or len(possible) == 1:
        return possible, ""
    progress.step("measuring precisions", 0, 1)
    seconds = remembered(memory, AutoConfig.from_pretrained(source, trust_remote_code=False), possible)
    return by_speed(seconds), ", ".join(f"{each} {1000 * took:.0f} ms" for each, took in seconds.items())


def remembered(memory: Path, config: Any, precisions: Sequence[Precision]) -> dict[Precision, float]:
    """What ``measure`` gives, kept in the file ``memory``, so that models of one shape have the same precision."""
    shape = [config.hidden_size, config.intermediate_size, config.num_attention_heads, config.model_type]
    name = json.dumps([shape, list(precisions), sorted(_processor()), openvino.__version__])
    try:
        known: dict[str, dict[Precision, float]] = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    if name not in known:
        known[name] = measure(config, precisions)
        memory.write_text(json.dumps(known), encoding="utf-8")
    return known[name]


def _processor() -> set[str]:
    """The names of the processor's models."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line.startswith(("model name", "CPU part"))}


def measure(config: Any, precisions: Sequence[Precision]) -> dict[Precision, float]:
    """Seconds of a run in each of the precisions, for an encoder with the Hugging Face ``config``."""
    encoder, texts = _encoder(config), _texts(config)
    weights = replace(trained(encoder, text_int8.calibrate(encoder, texts)), rounding=text_int8.nearest)
    with tempfile.TemporaryDirectory() as folder:
        runs = {}
        for precision in precisions:
            target = Path(folder, precision)
            target.mkdir()
            write(embedder(weights, precision, "mean"), precision, target)
            runs[precision] = session(target, _THREADS)
        seconds = dict.fromkeys(precisions, float("inf"))
        for _ in range(_ROUNDS):
            for precision, run in runs.items():
                started = time.process_time()
                run(list(texts))
                seconds[precision] = min(seconds[precision], time.process_time() - started)
    return seconds


def _encoder(config: Any) -> Any:
    small = copy.deepcopy(config)
    small.num_hidden_layers, small.vocab_size = _LAYERS, _WORDS
    # Some have fewer positions than the longest text here has tokens.
    small.max_position_embeddings = max(small.max_position_embeddings, 2 * _LENGTHS[-1])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return AutoModel.from_config(small).float().eval()


def _texts(config: Any) -> Ids:
    rng = np.random.default_rng(0)
    return [rng.integers(config.pad_token_id + 1, _WORDS, length).astype(np.int32) for length in _LENGTHS]


# The checkpoint in ``transformers``


@dataclass(frozen=True)
class TextModel:
    """The ``original`` of a text model, what it ``promises``, and what makes vectors or scores of its hidden states.

    ``score`` is for an encoder that scores pairs without a head. The graph is written here if it ``is_packed``, else by
    optimum. ``separator`` is the token that ends a text of a pair. The ids of texts are for ``calibration``, for
    comparisons at every length, and ``held_out`` of the calibration. An embedder may have a ``head`` that weighs
    tokens, but for those that are ``unweighted``.
    """

    promise: Model
    original: Any
    pooling: Pooling
    score: PairScore | None
    calibration: Ids
    of_every_length: Ids
    held_out: Ids
    is_packed: bool = True
    separator: int = -1
    head: Linear | None = None
    unweighted: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.promise.triton_model

    @property
    def width(self) -> int:
        """The width of its vectors; 0 for a reranker."""
        return self.promise.width

    def graph(self, model: Trained, precision: Precision) -> onnx.ModelProto:
        if self.width:
            return embedder(model, precision, self.pooling, self.width, self.head_of(precision))
        return cosine_reranker(model, precision, self.pooling, self.score) if self.score else reranker(model, precision)

    def head_of(self, precision: Precision) -> Linear | None:
        """The head of an export: on CUDA, all texts would take the time of those that are weighed."""
        return None if precision == "fp16" else self.head

    def padded_graph(self) -> onnx.ModelProto:
        if self.width:
            return text_optimum.embedder(self.original, self.pooling)
        return text_optimum.scorer(self.original, self.separator)

    def answer(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """The original's answer to the token ids of a text: a vector or a score."""
        if self.width:
            vector = self._vector(ids)
            return np.pad(vector, (0, self.width - len(vector)))
        if self.score is None:
            with torch.inference_mode():
                logits = self.original(**self._inputs(ids)).logits.float()
            return np.array(torch.sigmoid(logits[0, 0]).item(), np.float32)
        end = ids.tolist().index(self.score.separator) + 1
        second = np.append(np.int32(self.score.start), ids[end + 1 :])
        return np.array(self.score.of(float(self._vector(ids[:end]) @ self._vector(second))), np.float32)

    def token_weights(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """What the original's head says of the token ids of a text, as FlagEmbedding computes it."""
        assert self.head is not None
        return np.maximum(self._hidden(ids).numpy() @ self.head.weight[:, 0] + self.head.bias, 0)

    def _hidden(self, ids: NDArray[np.int32]) -> torch.Tensor:
        """The last hidden states of a text, [tokens, width]."""
        with torch.inference_mode():
            hidden: torch.Tensor = self.original(
                input_ids=torch.from_numpy(ids.astype(np.int64))[None]
            ).last_hidden_state
        return hidden[0].float()

    def _vector(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        hidden = self._hidden(ids)
        pooled = hidden[0] if self.pooling == "cls" else hidden.mean(0)
        vector: NDArray[np.float32] = torch.nn.functional.normalize(pooled, dim=0).numpy()
        return vector

    def _inputs(self, ids: NDArray[np.int32]) -> dict[str, Any]:
        """The original's inputs for a pair: where tokens have types, those of the second text have another."""
        tokens = torch.from_numpy(ids.astype(np.int64))[None]
        if getattr(self.original.config, "type_vocab_size", 0) < 2:
            return {"input_ids": tokens}
        is_separator = (tokens == self.separator).long()
        return {"input_ids": tokens, "token_type_ids": (is_separator.cumsum(1) > is_separator).long()}


def _tokenizer(source: Path) -> Any:
    try:
        return AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except Exception as error:
        # The parser of tokenizer.json raises no narrower one.
        raise SourceError(f"{source / 'tokenizer.json'} is no tokenizer of a model of this type") from error


def _original(source: Path, *, has_head: bool) -> Any:
    """Load weights, never code: by default, transformers asks at the terminal whether to run what lies beside them."""
    kind = AutoModelForSequenceClassification if has_head else AutoModel
    try:
        model, found = kind.from_pretrained(
            source, trust_remote_code=False, weights_only=True, output_loading_info=True
        )
    except RuntimeError as error:
        raise SourceError(f"{source} has weights of other shapes than its config.json says") from error
    except Exception as error:
        # Of a config.json or weights that are damaged, transformers raises anything.
        raise SourceError(f"{source} has a config.json or weights that cannot be loaded") from error
    # transformers makes up the weights that it does not find; nothing here reads those of a pooler.
    if missing := sorted(name for name in found["missing_keys"] if "pooler" not in name or has_head):
        raise SourceError(
            f"{source} has no weights {missing[0]}: its files are not of the model that config.json names"
        )
    if has_head and model.config.num_labels != 1:
        raise SourceError(f"{source} gives a pair {model.config.num_labels} scores, and a reranker one")
    return model.float().eval()


def load(promise: Model, source: Path, pooling: Pooling | Literal[""] = "") -> TextModel:
    """Load the checkpoint in ``source`` and the texts that its calibration and its checks need.

    Without a ``pooling``, the checkpoint says it.
    """
    check_promise(promise, source)
    embeds = promise.operation == EMBEDDINGS
    architectures = read_json(source / "config.json").get("architectures") or [""]
    has_head = not embeds and "SequenceClassification" in architectures[0]
    tokenizer, positions = _tokenizer(source), usable_positions(source)
    original = _original(source, has_head=has_head)
    if len(tokenizer) > (known := original.get_input_embeddings().num_embeddings):
        raise SourceError(f"{source / 'tokenizer.json'} has {len(tokenizer)} tokens, and the model knows {known}")

    def tokenised(lines: list[str], *, pairs: bool) -> Ids:
        texts = _pairs(lines) if pairs else [(line,) for line in lines]
        return [np.array(tokenizer(*text, truncation=True, max_length=positions).input_ids, np.int32) for text in texts]

    return TextModel(
        promise,
        original,
        "cls" if has_head else pooling or pooling_of(source),
        None if embeds or has_head else _pair_score(source, tokenizer),
        # An encoder without a head gets the texts of a pair one by one.
        tokenised(text_int8.texts(), pairs=has_head),
        text_checks.of_every_length(tokenizer, positions, pair=not embeds),
        tokenised(text_int8.held_out(), pairs=not embeds),
        is_packed(source),
        tokenizer.eos_token_id if tokenizer.sep_token_id is None else tokenizer.sep_token_id,
        # optimum's graphs hand on no hidden states.
        _token_head(source) if embeds and is_packed(source) else None,
        _unweighted(tokenizer),
    )


def _pairs(lines: list[str]) -> list[tuple[str, ...]]:
    """Each line with the next, which are unrelated, and the halves of each, which are related."""
    return [*zip(lines, lines[1:], strict=False), *((line[: len(line) // 2], line[len(line) // 2 :]) for line in lines)]


def pooling_of(source: Path) -> Pooling:
    """How a checkpoint pools, from the file of sentence-transformers; without one as M3, by the first token."""
    path = source / "1_Pooling" / "config.json"
    if not path.is_file():
        return "cls"
    settings = read_json(path)
    chosen = {name for name, on in settings.items() if name.startswith("pooling_mode_") and on}
    if chosen == {"pooling_mode_mean_tokens"}:
        return "mean"
    if chosen == {"pooling_mode_cls_token"}:
        return "cls"
    raise SourceError(f"{path} asks for a pooling that is neither the first token nor the mean: {sorted(chosen)}")


def _token_head(source: Path) -> Linear | None:
    """The layer of a checkpoint that weighs tokens (M3-Embedding, Chen et al. 2024), if it has one."""
    path = source / TOKEN_HEAD
    if not path.is_file():
        return None
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
        head = Linear(found["weight"].float().numpy().T, found["bias"].float().numpy())
    except Exception as error:
        # Of a file that is damaged, or not one of weights, torch raises anything.
        raise SourceError(f"{path} has no weight and bias of a linear layer") from error
    if (head.weight.shape, head.bias.shape) != ((hidden_width(source), 1), (1,)):
        raise SourceError(f"{path} is for other hidden states than {source} has")
    if not (np.isfinite(head.weight).all() and np.isfinite(head.bias).all()):
        raise SourceError(f"{path} has numbers that are not finite")
    return head


def _unweighted(tokenizer: Any) -> tuple[int, ...]:
    """The special tokens that FlagEmbedding leaves out of a text's weights."""
    named = (tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id)
    return tuple(sorted({token for token in named if token is not None}))


def _pair_score(source: Path, tokenizer: Any) -> PairScore:
    """How the ``quartet.json`` of a checkpoint makes a score of a cosine."""
    path = source / "quartet.json"
    settings = read_json(path) if path.is_file() else {}
    if "cosine_score" not in settings:
        raise SourceError(f"{source} has no classification head, and no quartet.json with a cosine_score")
    return PairScore(**settings["cosine_score"], start=tokenizer.cls_token_id, separator=tokenizer.sep_token_id)


# The export


def export(model: TextModel, source: Path, target: Path, precision: Precision, progress: Progress) -> list[Check]:
    """Write the graph, tokenizer and settings of a model into ``target``, and compare it with its original."""
    if not model.is_packed:
        write(model.padded_graph(), precision, target, max_tokens=model.promise.max_tokens)
        return _checks(model, source, target, precision, progress)
    int8 = precision == "int8"
    inputs = text_int8.calibrate(model.original.base_model, model.calibration, progress) if int8 else {}
    weights = trained(model.original, inputs, progress)
    weighs = {"unweighted_tokens": model.unweighted} if model.head_of(precision) else {}
    # A name for the graph would keep its weights in memory.
    write(model.graph(weights, precision), precision, target, max_tokens=model.promise.max_tokens, **weighs)
    inputs.clear()
    return _checks(model, source, target, precision, progress)


def _checks(model: TextModel, source: Path, target: Path, precision: Precision, progress: Progress) -> list[Check]:
    """The checks of what was written, beside which the tokenizer comes."""
    shutil.copy(source / "tokenizer.json", target / "tokenizer.json")
    texts = model.of_every_length if precision == "fp32" else model.held_out
    wanted = np.stack([model.answer(ids) for ids in progress.over(texts, "computing the original's answers")])
    if precision == "fp16":
        # No other way follows that needs it in float32.
        model.original.half()
        found = text_checks.fp16(model.name, lambda some: np.stack([model.answer(ids) for ids in some]), texts, wanted)
        return [*found, not_checked(model.name, "fp16: on CUDA itself")]
    loaded = _loaded(target, processors())
    limits = {"int8": text_checks.INT8, "bf16": text_checks.BF16}.get(precision, text_checks.FP32)
    found = [text_checks.batch_invariant(model.name, loaded.compute, model.of_every_length)]
    if precision == "fp32":
        found.append(text_checks.exact(model.name, loaded.compute, texts, wanted))
    else:
        found += text_checks.close(model.name, limits, loaded.compute, texts, wanted)
    if model.head is not None and loaded.weighs:
        weigh = weights_of(loaded)
        found.append(text_checks.batch_invariant(model.name, weigh, model.of_every_length, "token weights"))
        found.append(
            text_checks.token_weights(model.name, limits, weigh, texts, [model.token_weights(ids) for ids in texts])
        )
    return found


def write(graph: onnx.ModelProto, precision: Precision, target: Path, **settings: Any) -> None:
    """Write a graph and its ``settings`` into ``target``."""
    save(graph, target / "model.onnx")
    for_processors = {} if precision == "fp16" else {"processor_flags": sorted(FAST_INT8)}
    settings |= {"precision": precision, **for_processors}
    (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def session(folder: Path, threads: int = 2) -> Run:
    """The model in ``folder`` as a function from the token ids of texts to one row per text, as Triton runs it."""
    run: Run = _loaded(folder, threads).compute
    return run


def weights_of(loaded: Any) -> Weigh:
    """The same of ``_loaded`` to the weights of the tokens of each text."""
    return lambda texts: loaded.weigh(texts, np.ones(len(texts), bool))[1]


def _loaded(folder: Path, threads: int) -> Any:
    return triton_module("m3_embedder", "texts").TextModel(folder, threads)
