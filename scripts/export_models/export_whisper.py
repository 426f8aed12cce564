"""Convert a Whisper checkpoint and compare its greedy decoding with ``transformers``' generate.

CTranslate2 decodes it and, in most precisions, encodes too; in int8 a processor encodes with a graph of our own.
"""

import copy
import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import ctranslate2
import numpy as np
import onnx
import soxr
import torch
from numpy.typing import NDArray
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration
from transformers.generation import GenerationMixin
from transformers.generation.logits_process import (
    LogitsProcessorList,
    SuppressTokensAtBeginLogitsProcessor,
    SuppressTokensLogitsProcessor,
    WhisperTimeStampLogitsProcessor,
)

from scripts.export_models.demo.espeak import Espeak
from scripts.export_models.demo.sentences import sentences
from scripts.export_models.graph import save
from scripts.export_models.int8 import FAST_INT8, int8_is_fast
from scripts.export_models.parity import Check
from scripts.export_models.whisper_encoder import whisper_encoder

_MODEL_CODE = Path(__file__).parents[2] / "model_repository" / "whisper_turbo" / "1"
# Of a checkpoint's files, those that are no weights.
_SETTINGS = {".json", ".txt"}
_STOCK_WINDOW_SECONDS = 30.0
_SAMPLE_RATE = 16_000
_PARITY_SENTENCES = 6
_LARGEST_ENCODER_ERROR, _LARGEST_QUANTIZED_ENCODER_ERROR = 1e-3, 0.2
_LARGEST_QUANTIZED_DIFFERENCE = 0.34


def recognizer_module(name: str = "recognizer") -> ModuleType:
    """The code that Triton runs, imported from the model repository where it lies."""
    if str(_MODEL_CODE) not in sys.path:
        sys.path.insert(0, str(_MODEL_CODE))
    return importlib.import_module(name)


def convert(source: Path, target: Path, compute_type: str, *, encoder_graph: bool = False) -> None:
    """Write CTranslate2's files, the tokenizer and ``quartet.json`` into ``target``.

    With ``encoder_graph`` the encoder is a graph beside them, in int8, and what CTranslate2 has can only decode.
    ``min_window_seconds`` is 30 for stock checkpoints, which never saw a shorter window; a checkpoint tuned for
    shorter ones says so in a ``quartet.json`` of its own, and so does one that hears worse behind a prompt.
    """
    if encoder_graph:
        with _encoder_taken_out(source) as (encoder, rest):
            _convert(rest, target, compute_type)
        save(encoder, target / recognizer_module("encoders").GRAPH)
    else:
        _convert(source, target, compute_type)
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
    if encoder_graph:
        settings["processor_flags"] = sorted(FAST_INT8)
    if not ctranslate2.models.Whisper(str(target), device="cpu").is_multilingual:
        settings["languages"] = write_first_step(source, target)
    (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def _convert(source: Path, target: Path, compute_type: str) -> None:
    converter = ctranslate2.converters.TransformersConverter(str(source), copy_files=["tokenizer.json"])
    converter.convert(str(target), quantization=compute_type, force=True)


@contextmanager
def _encoder_taken_out(source: Path) -> Iterator[tuple[onnx.ModelProto, Path]]:
    """A checkpoint's encoder as a graph, and the rest as a checkpoint in a folder that ends with the block.

    One layer stays in the rest, since CTranslate2 reads no encoder without.
    """
    model = WhisperForConditionalGeneration.from_pretrained(source)
    encoder = model.model.encoder
    graph = whisper_encoder(model.config, encoder.state_dict())
    encoder.layers = encoder.layers[:1]
    model.config.encoder_layers = 1
    with TemporaryDirectory() as name:
        rest = Path(name)
        model.save_pretrained(rest)
        for file in source.iterdir():
            if file.suffix in _SETTINGS and not (rest / file.name).exists():
                shutil.copy(file, rest)
        yield graph, rest


def write_first_step(source: Path, target: Path) -> list[str]:
    """Keep the decoder of a checkpoint that CTranslate2 takes for English-only, so that languages can be told.

    Returns the codes of the checkpoint's languages.
    """
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


def reference_tokens(model: Any, encoded: Any, language: str, most: int) -> list[int]:
    """At most ``most`` greedy tokens with timestamps from ``transformers``, without the task and end tokens.

    ``encoded`` is what the model's encoder gave. It is decoded by the generate of every model with Whisper's own logits
    processors: Whisper's wrapper around it would start again behind the last timestamp.
    """
    settings = copy.deepcopy(model.generation_config)
    task = [settings.decoder_start_token_id, settings.lang_to_id[f"<|{language}|>"], settings.task_to_id["transcribe"]]
    processors = [
        SuppressTokensLogitsProcessor(settings.suppress_tokens),
        SuppressTokensAtBeginLogitsProcessor(settings.begin_suppress_tokens, begin_index=len(task)),
        WhisperTimeStampLogitsProcessor(settings, begin_index=len(task)),
    ]
    settings.max_length, settings.suppress_tokens, settings.begin_suppress_tokens = None, None, None
    with torch.inference_mode():
        ids = GenerationMixin.generate(
            model,
            encoder_outputs=encoded,
            decoder_input_ids=torch.tensor([task]),
            generation_config=settings,
            logits_processor=LogitsProcessorList(processors),
            max_new_tokens=most,
            do_sample=False,
            num_beams=1,
        )[0].tolist()
    tokens = ids[len(task) :]
    end: int = settings.eos_token_id
    return tokens[: tokens.index(end)] if end in tokens else tokens


def _recognizer(target: Path, compute_type: str) -> Any:
    """The export's recognizer, whose windows are all whole: the original sees no others."""
    settings = json.loads((target / "quartet.json").read_text(encoding="utf-8"))
    whole = {**settings, "min_window_seconds": settings["window_seconds"]}
    (target / "quartet.json").write_text(json.dumps(whole), encoding="utf-8")
    try:
        return recognizer_module().Recognizer(target, compute_type=compute_type, threads=2, beam_size=1)
    finally:
        (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def compare(source: Path, target: Path, name: str, compute_type: str) -> list[Check]:
    """How far encoder outputs are from the original's, and the share of windows with other greedy tokens."""
    recognizer, window = _recognizer(target, compute_type), recognizer_module().Window
    model = WhisperForConditionalGeneration.from_pretrained(source).float().eval()
    extractor = WhisperFeatureExtractor.from_pretrained(source)
    errors, different = [], 0
    windows = spoken_windows(extractor.chunk_length)
    for language, audio in windows:
        features = extractor(audio, sampling_rate=_SAMPLE_RATE, return_tensors="pt").input_features
        with torch.inference_mode():
            reference = model.model.encoder(features)
        wanted = reference.last_hidden_state[0].numpy()
        encoded, ours = recognizer.decode_greedily(window(audio, language=language))
        errors.append(float(np.linalg.norm(encoded - wanted) / np.linalg.norm(wanted)))
        theirs = reference_tokens(model, reference, language, recognizer.most_tokens(len(audio) / _SAMPLE_RATE))
        if compute_type != "float32":
            # Less precise weights may move a timestamp by a step; it is the words that count.
            ours, theirs = ([t for t in tokens if t < recognizer.first_timestamp] for tokens in (ours, theirs))
        different += ours != theirs
    exact = compute_type == "float32"
    return [
        Check(
            name,
            f"{compute_type}: encoder output, largest relative error",
            max(errors),
            _LARGEST_ENCODER_ERROR if exact else _LARGEST_QUANTIZED_ENCODER_ERROR,
        ),
        Check(
            name,
            f"{compute_type}: share of {len(windows)} windows with other tokens",
            different / len(windows),
            0.0 if exact else _LARGEST_QUANTIZED_DIFFERENCE,
        ),
    ]


def export_whisper(name: str, source: Path, target: Path, compute_type: str) -> list[Check]:
    """Write the model's ``whisper`` folder below ``target`` and compare it with ``source``."""
    folder = target / "whisper"
    shutil.rmtree(folder, ignore_errors=True)
    convert(source, folder, compute_type, encoder_graph=compute_type == "int8" and int8_is_fast())
    return compare(source, folder, name, compute_type)
