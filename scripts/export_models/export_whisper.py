"""Convert a Whisper checkpoint to CTranslate2 and compare its greedy decoding with ``transformers``' generate."""

import importlib
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import ctranslate2
import numpy as np
import soxr
import torch
from numpy.typing import NDArray
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperTokenizerFast

from scripts.export_models.demo.espeak import Espeak
from scripts.export_models.demo.sentences import sentences
from scripts.export_models.parity import Check

_MODEL_CODE = Path(__file__).parents[2] / "model_repository" / "whisper_turbo" / "1"
_STOCK_WINDOW_SECONDS = 30.0
_SAMPLE_RATE = 16_000
# CTranslate2 takes a Whisper with fewer entries for an English-only one.
_MULTILINGUAL_VOCABULARY = 51_865
_PARITY_SENTENCES = 6
_LARGEST_QUANTIZED_DIFFERENCE = 0.2


def recognizer_module() -> ModuleType:
    """The code that Triton runs, imported from the model repository where it lies."""
    if str(_MODEL_CODE) not in sys.path:
        sys.path.insert(0, str(_MODEL_CODE))
    return importlib.import_module("recognizer")


def convert(source: Path, target: Path, compute_type: str) -> None:
    """Write CTranslate2's files, the tokenizer and ``quartet.json`` into ``target``.

    ``min_window_seconds`` is 30 for stock checkpoints, which never saw a shorter window; a checkpoint tuned for
    shorter ones says so in a ``quartet.json`` of its own.
    """
    converter = ctranslate2.converters.TransformersConverter(str(source), copy_files=["tokenizer.json"])
    converter.convert(str(target), quantization=None if compute_type == "float32" else compute_type, force=True)
    extractor = json.loads((source / "preprocessor_config.json").read_text(encoding="utf-8"))
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    seconds = float(extractor["chunk_length"])
    own = source / "quartet.json"
    tuned = json.loads(own.read_text(encoding="utf-8")) if own.is_file() else {}
    settings = {
        "window_seconds": seconds,
        "min_window_seconds": tuned.get("min_window_seconds", min(seconds, _STOCK_WINDOW_SECONDS)),
        "mel_bins": extractor["feature_size"],
        "max_target_positions": config["max_target_positions"],
    }
    if config["vocab_size"] < _MULTILINGUAL_VOCABULARY:
        settings["languages"] = write_first_step(source, target)
    (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def write_first_step(source: Path, target: Path) -> list[str]:
    """Keep the decoder of a checkpoint whose language CTranslate2 will not detect; returns its languages."""
    model = WhisperForConditionalGeneration.from_pretrained(source).float()
    weights = {name: value.numpy() for name, value in model.model.decoder.state_dict().items()}
    counts = {"heads": model.config.decoder_attention_heads, "layers": model.config.decoder_layers}
    np.savez(target / "first_step.npz", **weights, **{name: np.array(value) for name, value in counts.items()})
    return [token.strip("<|>") for token in model.generation_config.lang_to_id]


def spoken_windows(seconds: float) -> list[tuple[str, NDArray[np.float32]]]:
    """Sentences from espeak-ng as (language, audio [samples] at 16 kHz), none longer than a window."""
    espeak = Espeak()
    windows = []
    for language, voice in (("en", "en-us"), ("de", "de"), ("fr", "fr")):
        for text in sentences(language, 3_000_001, _PARITY_SENTENCES // 3):
            spoken = espeak.speak(text, voice)
            audio = soxr.resample(spoken.samples.astype(np.float32) / 32768, espeak.sample_rate, _SAMPLE_RATE)
            windows.append((language, audio[: int(seconds * _SAMPLE_RATE)].astype(np.float32)))
    return windows


def reference_tokens(model: Any, extractor: Any, language: str, audio: NDArray[np.float32]) -> list[int]:
    """Greedy tokens with timestamps from ``transformers``, without the start and end tokens."""
    features = extractor(audio, sampling_rate=_SAMPLE_RATE, return_tensors="pt").input_features
    with torch.inference_mode():
        ids = model.generate(
            features, language=language, task="transcribe", return_timestamps=True, do_sample=False, num_beams=1
        )[0].tolist()
    settings = model.generation_config
    special = {settings.decoder_start_token_id, settings.eos_token_id, settings.task_to_id["transcribe"]}
    special |= set(settings.lang_to_id.values())
    return [token for token in ids if token not in special]


def compare(source: Path, target: Path, name: str, compute_type: str) -> list[Check]:
    """The share of windows whose greedy tokens differ from the original's."""
    module = recognizer_module()
    settings = json.loads((target / "quartet.json").read_text(encoding="utf-8"))
    whole = {**settings, "min_window_seconds": settings["window_seconds"]}
    # The original always sees a whole window, so the comparison shows both the same.
    (target / "quartet.json").write_text(json.dumps(whole), encoding="utf-8")
    try:
        recognizer = module.Recognizer(target, compute_type=compute_type, threads=2, beam_size=1)
    finally:
        (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    model = WhisperForConditionalGeneration.from_pretrained(source).float().eval()
    extractor = WhisperFeatureExtractor.from_pretrained(source)
    end = WhisperTokenizerFast.from_pretrained(source).eos_token_id
    different = 0
    windows = spoken_windows(settings["window_seconds"])
    for language, audio in windows:
        ours = recognizer.decode_greedily(module.Window(audio, language=language))
        theirs = reference_tokens(model, extractor, language, audio)
        different += [t for t in ours if t != end] != [t for t in theirs if t != end]
    limit = 0.0 if compute_type == "float32" else _LARGEST_QUANTIZED_DIFFERENCE
    what = f"{compute_type}: share of {len(windows)} windows with other tokens"
    return [Check(name, what, different / len(windows), limit)]


def export_whisper(name: str, source: Path, target: Path, compute_type: str) -> list[Check]:
    """Write the model's ``whisper`` folder below ``target`` and compare it with ``source``."""
    folder = target / "whisper"
    shutil.rmtree(folder, ignore_errors=True)
    convert(source, folder, compute_type)
    return compare(source, folder, name, compute_type)
