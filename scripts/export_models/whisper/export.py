"""Convert a Whisper checkpoint and compare its greedy decoding with ``transformers``' generate.

CTranslate2 encodes and decodes it; in int8 there are graphs beside, with which OpenVINO does both on a processor, and
CTranslate2 what is rarer.
"""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import ctranslate2
import openvino as ov
from transformers import WhisperForConditionalGeneration

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.graphs.conditions import ALONE, Conditions
from scripts.export_models.graphs.fast_int8 import FAST_INT8
from scripts.export_models.graphs.parity import Check
from scripts.export_models.graphs.progress import SILENT, Progress
from scripts.export_models.whisper import checks
from scripts.export_models.whisper.decoder import whisper_decoder
from scripts.export_models.whisper.encoder import whisper_encoder
from scripts.export_models.whisper.served import recognizer_module

# Of a checkpoint's files, those that are no weights.
_SETTINGS = {".json", ".txt"}
_STOCK_WINDOW_SECONDS = 30.0


def convert(
    source: Path, target: Path, compute_type: str, *, graphs: bool = False, progress: Progress = SILENT
) -> None:
    """Write CTranslate2's files, the tokenizer and ``quartet.json`` into ``target``.

    With ``graphs`` encoder and decoder are graphs beside them, in int8, and what CTranslate2 has can only decode.
    ``min_window_seconds`` is 30 for stock checkpoints, which never saw a shorter window; a checkpoint tuned for
    shorter ones says so in a ``quartet.json`` of its own, and so does one that hears worse behind a prompt.
    """
    extractor = json.loads((source / "preprocessor_config.json").read_text(encoding="utf-8"))
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    seconds = float(extractor["chunk_length"])
    own = source / "quartet.json"
    tuned = json.loads(own.read_text(encoding="utf-8")) if own.is_file() else {}
    settings = {
        "window_seconds": seconds,
        "min_window_seconds": tuned.get("min_window_seconds", min(seconds, _STOCK_WINDOW_SECONDS)),
        "beam_size": tuned.get("beam_size", 1),
        "prompts": tuned.get("prompts", True),
        "mel_bins": extractor["feature_size"],
        "max_target_positions": config["max_target_positions"],
    }
    if graphs:
        settings["processor_flags"] = sorted(FAST_INT8)
        with TemporaryDirectory() as rest:
            one_length = settings["min_window_seconds"] == settings["window_seconds"]
            encoder, decoder = _take_encoder_out(source, Path(rest), progress, one_length=one_length)
            progress.step("converting the decoder", 0, 1)
            _convert(Path(rest), target, compute_type)
        files = recognizer_module("graphs")
        for graph, file in ((encoder, files.ENCODER), (decoder, files.DECODER)):
            ov.save_model(graph, target / file, compress_to_fp16=False)
    else:
        progress.step("converting", 0, 1)
        _convert(source, target, compute_type)
    (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def _convert(source: Path, target: Path, compute_type: str) -> None:
    converter = ctranslate2.converters.TransformersConverter(str(source), copy_files=["tokenizer.json"])
    converter.convert(str(target), quantization=compute_type, force=True)
    if not ctranslate2.models.Whisper(str(target), device="cpu").is_multilingual:
        raise SourceError(
            f"{source} is no multilingual Whisper: CTranslate2 finds no empty token in its vocabulary, by which it "
            "knows one, and would refuse to detect a language"
        )


def _take_encoder_out(source: Path, rest: Path, progress: Progress, *, one_length: bool) -> tuple[ov.Model, ov.Model]:
    """A checkpoint's encoder and decoder as graphs; into ``rest`` goes the checkpoint without the first.

    One layer stays in the rest, since CTranslate2 reads no encoder without.
    """
    # As it is kept: all of a large one in float32 would take twice the memory.
    model = WhisperForConditionalGeneration.from_pretrained(source, dtype="auto")
    encoder = whisper_encoder(model.config, model.model.state_dict(), progress, one_length=one_length)
    decoder = whisper_decoder(model.config, model.model.state_dict())
    model.model.encoder.layers = model.model.encoder.layers[:1]
    model.config.encoder_layers = 1
    model.float().save_pretrained(rest)
    for file in source.iterdir():
        if file.suffix in _SETTINGS and not (rest / file.name).exists():
            shutil.copy(file, rest)
    return encoder, decoder


def export_whisper(
    name: str, source: Path, target: Path, compute_type: str, conditions: Conditions = ALONE
) -> list[Check]:
    """Write the model's ``whisper`` folder below ``target`` and compare it with ``source``."""
    folder = target / "whisper"
    shutil.rmtree(folder, ignore_errors=True)
    convert(source, folder, compute_type, graphs=compute_type == "int8", progress=conditions.progress)
    return checks.compare(source, folder, name, compute_type, conditions)
