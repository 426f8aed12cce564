"""Exports Whisper: as graphs for OpenVINO in int8, or as CTranslate2's files in any precision."""

import json
import shutil
from pathlib import Path
from typing import Any

import ctranslate2
import openvino as ov
from transformers import WhisperModel

from scripts.export_models.checkpoints import SourceError, read_json
from scripts.export_models.parity import Check
from scripts.export_models.precisions import FAST_INT8
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.ways import Way
from scripts.export_models.whisper import checks
from scripts.export_models.whisper.decoder import whisper_decoder
from scripts.export_models.whisper.encoder import whisper_encoder
from scripts.export_models.whisper.served import recognizer_module

_SILENCE_SECONDS, _STEP_SECONDS = 6, 2


def convert(
    source: Path, target: Path, compute_type: str, *, graphs: bool = False, progress: Progress = SILENT
) -> None:
    """Write a model, its tokenizer and ``quartet.json`` into ``target``.

    With ``graphs``, the model is two graphs for OpenVINO in int8, else CTranslate2's files in ``compute_type``. Raises
    ``SourceError`` for a model that CTranslate2 takes for one of English only.
    """
    extractor, config = read_json(source / "preprocessor_config.json"), read_json(source / "config.json")
    generation = read_json(source / "generation_config.json")
    target.mkdir(parents=True, exist_ok=True)
    settings = {
        "window_seconds": extractor["chunk_length"],
        # A window is encoded with so much silence at least, up to a whole number of steps, at most as a whole window.
        "silence_seconds": _SILENCE_SECONDS,
        "step_seconds": _STEP_SECONDS,
        "mel_bins": extractor["feature_size"],
        "max_target_positions": config["max_target_positions"],
        "languages": {token.strip("<|>"): identity for token, identity in generation["lang_to_id"].items()},
        "suppressed": generation.get("suppress_tokens", []),
        "suppressed_first": generation.get("begin_suppress_tokens", []),
    }
    if graphs:
        heads = generation.get("alignment_heads") or _later_heads(config)
        settings |= {"processor_flags": sorted(FAST_INT8), "alignment_heads": heads}
        _write_graphs(source, target, heads, progress)
    else:
        progress.step("converting", 0, 1)
        converter = ctranslate2.converters.TransformersConverter(str(source))
        converter.convert(str(target), quantization=compute_type, force=True)
        if not ctranslate2.models.Whisper(str(target), device="cpu").is_multilingual:
            raise SourceError(
                f"{source} is no multilingual Whisper: CTranslate2 finds no empty token in its vocabulary, by which it "
                "knows one, and would refuse to detect a language"
            )
    shutil.copy(source / "tokenizer.json", target)
    (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def _later_heads(config: dict[str, Any]) -> list[list[int]]:
    """The default alignment heads of OpenAI's Whisper: all heads of the later half of the layers."""
    layers, heads = config["decoder_layers"], config["decoder_attention_heads"]
    return [[layer, head] for layer in range(layers // 2, layers) for head in range(heads)]


def _write_graphs(source: Path, target: Path, alignment_heads: list[list[int]], progress: Progress) -> None:
    # In its own precision: a large one in float32 would take twice the memory.
    model = WhisperModel.from_pretrained(source, dtype="auto")
    files = recognizer_module("graphs")
    for file, graph in (
        (files.ENCODER, whisper_encoder(model.config, model.state_dict(), progress)),
        (files.DECODER, whisper_decoder(model.config, model.state_dict(), alignment_heads)),
    ):
        ov.save_model(graph, target / file, compress_to_fp16=False)


def ways(name: str, source: Path, target: Path, precision: str, progress: Progress = SILENT) -> list[Way]:
    """The ways to write the folder ``whisper`` below ``target``, beginning with ``precision``.

    bf16 is fp32, since CTranslate2 does not compute in bfloat16 on processors.
    """

    def way(title: str, compute_type: str, *, graphs: bool = False) -> Way:
        def export() -> list[Check]:
            folder = target / "whisper"
            shutil.rmtree(folder, ignore_errors=True)
            convert(source, folder, compute_type, graphs=graphs, progress=progress)
            return checks.compare(source, folder, name, compute_type, progress)

        return Way(title, export)

    if precision == "fp16":
        return [way("fp16", "float16")]
    exact = way("fp32", "float32")
    if precision in ("fp32", "bf16"):
        return [exact]
    return [way("int8", "int8", graphs=True), way("int8 by CTranslate2", "int8"), exact]
