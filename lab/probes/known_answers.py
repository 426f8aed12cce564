"""Faults in the demo's models that ``quartet verify`` must notice: ``python -m lab.probes.known_answers [fault]``.

Each is put into a copy of the model repository, which a real product serves.
"""

import asyncio
import contextlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import onnx
from onnx import numpy_helper
from transformers import AutoModel

from client.verify.checks import OPERATIONS, check
from client.verify.facts import load
from client.verify.questions import Questions
from client.verify.rows import HEAD, Row
from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS
from frontend.commands.tables import columns
from scripts.benchmark.common.target import own_product
from scripts.export_models.checkpoints import EMBEDDER, WHISPER_TURBO
from scripts.export_models.demo.voices import VOICES
from scripts.export_models.sources import DemoSource
from scripts.export_models.text import models
from scripts.export_models.text.model_folder import write
from scripts.export_models.whisper import encoder
from scripts.export_models.whisper.export import convert
from scripts.run.state import REPOSITORY
from tests.triton.test_known_answers import change_voice, other_tokenizer, phonemes_moved

_EMBEDDER, _RERANKER = Path("m3_embedder/1"), Path("m3_reranker/1")
_WIDTH, _TOKENS = 1024, 8192


def _rebuild(repository: Path, pooling: models.Pooling) -> None:
    source = DemoSource(Path("build/export/demo")).fetch(EMBEDDER)
    trained = models.checkpoint_of(AutoModel.from_pretrained(source).float().eval())
    write(models.embedder(trained, "fp32", pooling, _WIDTH), "fp32", repository / _EMBEDDER, max_tokens=_TOKENS)


def first_token_for_mean(repository: Path) -> None:
    _rebuild(repository, "cls")


def no_normalisation(repository: Path) -> None:
    with patch.object(models, "normalise", lambda graph, pooled: pooled):
        _rebuild(repository, "mean")


def shuffled_tokenizer(repository: Path) -> None:
    """That of a model with the same tokens in another order, so that every text has as many as before."""
    path = repository / _EMBEDDER / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    plain = [token for token in vocabulary if token.isalpha()]
    turned = [*plain[1:], plain[0]]
    vocabulary |= dict(zip(turned, [vocabulary[token] for token in plain], strict=True))
    path.write_text(json.dumps(tokenizer), encoding="utf-8")


def no_sigmoid(repository: Path) -> None:
    path = repository / _RERANKER / "model.onnx"
    model = onnx.load(path)
    (last,) = [node for node in model.graph.node if node.op_type == "Sigmoid"]
    last.op_type = "Identity"
    onnx.save(model, path)


def _shift_zero_points(path: Path, count: int) -> None:
    """Of ``count`` inputs that are quantised: they lie around a zero that is off by one."""
    model = onnx.load(path)
    known = {constant.name: constant for constant in model.graph.initializer}
    inputs = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
    assert inputs, f"{path} is not in int8"
    for number, node in enumerate(inputs[:count]):
        zero = numpy_helper.to_array(known[node.input[2]])
        model.graph.initializer.append(numpy_helper.from_array(zero + zero.dtype.type(1), f"shifted_{number}"))
        node.input[2] = f"shifted_{number}"
    onnx.save(model, path)


def zero_points_of_the_embedder(repository: Path) -> None:
    _shift_zero_points(repository / _EMBEDDER / "model.onnx", 1000)


def zero_points_of_one_layer(repository: Path) -> None:
    _shift_zero_points(repository / _EMBEDDER / "model.onnx", 7)


def zero_points_of_the_reranker(repository: Path) -> None:
    _shift_zero_points(repository / _RERANKER / "model.onnx", 1000)


def _convert_whisper(repository: Path, compute_type: str, *, graphs: bool) -> None:
    folder = repository / "whisper_turbo/1/whisper"
    shutil.rmtree(folder)
    convert(DemoSource(Path("build/export/demo")).fetch(WHISPER_TURBO), folder, compute_type, graphs=graphs)


def whisper_in_fp32(repository: Path) -> None:
    """No fault: it was recorded in both."""
    _convert_whisper(repository, "float32", graphs=False)


def zero_points_of_whisper(repository: Path) -> None:
    quantised = encoder._quantised

    def shifted(x: Any, zero_point: int) -> Any:
        return replace(quantised(x, zero_point), zero_point=zero_point + 1)

    with patch.object(encoder, "_quantised", shifted):
        _convert_whisper(repository, "int8", graphs=True)


def mel_bins(repository: Path) -> None:
    path = repository / "whisper_turbo/1/whisper/quartet.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"mel_bins": 128}), encoding="utf-8")


def mel_filters(repository: Path) -> None:
    """As many bins as there are to be, of half the frequencies."""
    path = repository / "whisper_turbo/1/features.py"
    code = path.read_text(encoding="utf-8")
    highest = "np.log(SAMPLE_RATE / 2"
    assert highest in code, "mel filters begin elsewhere"
    path.write_text(code.replace(highest, "np.log(SAMPLE_RATE / 4"), encoding="utf-8")


def words_a_window_late(repository: Path) -> None:
    path = repository / "whisper_turbo/1/model.py"
    code = path.read_text(encoding="utf-8")
    for time in ("start", "end"):
        told = f"word.{time} for word"
        assert told in code, "the times of words are told elsewhere"
        code = code.replace(told, f"word.{time} + 30 for word")
    path.write_text(code, encoding="utf-8")


def another_voices_sample_rate(repository: Path) -> None:
    change_voice(repository, "ryan", lambda settings: settings | {"audio": {"sample_rate": 16_000}})


def phonemes_of_another_language(repository: Path) -> None:
    change_voice(repository, "ryan", lambda settings: settings | {"espeak": {"voice": "fr"}})


def two_phonemes_swapped(repository: Path) -> None:
    """In each voice, one after the other."""

    def swapped(settings: dict[str, Any]) -> dict[str, Any]:
        known = settings["phoneme_id_map"]
        return settings | {"phoneme_id_map": known | {"p": known["b"], "b": known["p"]}}

    for voice in VOICES:
        change_voice(repository, voice.name, swapped)


# Each with the operations that it spoils.
FAULTS: Mapping[Callable[[Path], None], Collection[str]] = {
    first_token_for_mean: (EMBEDDINGS,),
    no_normalisation: (EMBEDDINGS,),
    other_tokenizer: (EMBEDDINGS,),
    shuffled_tokenizer: (EMBEDDINGS,),
    no_sigmoid: (RERANK,),
    zero_points_of_the_embedder: (EMBEDDINGS,),
    zero_points_of_one_layer: (EMBEDDINGS,),
    zero_points_of_the_reranker: (RERANK,),
    zero_points_of_whisper: (TRANSCRIPTIONS,),
    mel_bins: (TRANSCRIPTIONS,),
    mel_filters: (TRANSCRIPTIONS,),
    words_a_window_late: (TRANSCRIPTIONS,),
    another_voices_sample_rate: (SPEECH,),
    phonemes_of_another_language: (SPEECH,),
    phonemes_moved: (SPEECH,),
    two_phonemes_swapped: (SPEECH,),
}


def no_fault(repository: Path) -> None:
    """As it is."""


def answers(fault: Callable[[Path], None], operations: Collection[str]) -> list[Row]:
    """What a product with the fault is found to answer."""
    with tempfile.TemporaryDirectory(prefix="quartet-fault-") as folder:
        repository = Path(folder) / "models"
        shutil.copytree(REPOSITORY, repository, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
        fault(repository)
        with contextlib.redirect_stderr(io.StringIO()), own_product(repository) as product:
            return asyncio.run(_ask(product.address, product.key, operations))


async def _ask(address: str, key: str, operations: Collection[str]) -> list[Row]:
    async with Questions(address, key) as api:
        return await check(api, load("demo"), "", operations)


def main(names: list[str]) -> int:
    asked = {no_fault: OPERATIONS, whisper_in_fp32: (TRANSCRIPTIONS,), **FAULTS}
    unnoticed = 0
    for fault, operations in asked.items():
        if names and fault.__name__ not in names:
            continue
        rows = answers(fault, operations)
        wrong = [row for row in rows if not row.ok]
        print(f"\n{fault.__name__}: {len(wrong)} of {len(rows)} facts do not hold", flush=True)
        print("\n".join(columns([HEAD, *(row.cells for row in wrong[:8])])) if wrong else "", flush=True)
        unnoticed += bool(wrong) != (fault in FAULTS)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
