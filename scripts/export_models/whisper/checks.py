"""What an exported Whisper is held to: its original's encoder outputs and greedy tokens, in ``transformers``.

In int8 an encoder may lose what int8 loses and no more: the original is run again with its linear layers' weights and
inputs rounded as the export rounds them, and the export's error must be that one's.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import jiwer
import numpy as np
import soxr
import torch
from numpy.typing import NDArray
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration
from transformers.generation import GenerationMixin
from transformers.generation.logits_process import (
    LogitsProcessorList,
    SuppressTokensAtBeginLogitsProcessor,
    SuppressTokensLogitsProcessor,
    WhisperTimeStampLogitsProcessor,
)

from scripts.export_models.demo.espeak import Espeak
from scripts.export_models.demo.sentences import sentences
from scripts.export_models.graphs.conditions import ALONE, Conditions
from scripts.export_models.graphs.parity import Check, not_checked
from scripts.export_models.whisper.served import recognizer_module

_SAMPLE_RATE = 16_000
_VOICES = (("en", "en-us"), ("de", "de"), ("fr", "fr"), ("it", "it"))
_WIDE = 1024
# Two windows' keys and values of large-v3's 32 decoder layers are 1 GB.
_TOGETHER = 2
_INT8 = "int8"
# The largest relative error of an encoder's output by what its weights are kept in. Float32 differs by the order of
# additions, the others by their rounding of weights.
_ENCODER_LIMITS = {"float32": 1e-4, "float16": 5e-3, "int16": 5e-3, "bfloat16": 3e-2}
# Ours is 0.8 times int8's own error on the demo's Whisper, whose linear layers all have their zero in the middle; what
# was put in to be noticed, one layer too large by a tenth or 7 bits of 8, is above it.
_INT8_EXCESS_LIMIT = 1.15
_TOKEN_ERROR_LIMIT = 0.05

Float = NDArray[np.float32]


@dataclass(frozen=True)
class Answer:
    """What an export makes of a window: the encoder's output [frames, width], and of ``most`` tokens those it says."""

    language: str
    audio: Float
    encoded: Float
    tokens: list[int]
    most: int


def compare(
    source: Path, target: Path, name: str, compute_type: str, conditions: Conditions = ALONE, spoken: int | None = None
) -> list[Check]:
    """How far an export is from its original, on ``spoken`` sentences of each of four languages."""
    used = _on_a_processor(compute_type)
    extractor = WhisperFeatureExtractor.from_pretrained(source)
    width = WhisperConfig.from_pretrained(source).d_model
    windows = spoken_windows(extractor.chunk_length, spoken or sentences_for(width))
    answers, first_timestamp = _answers(target, used, windows, conditions)
    # Less precise weights may move a timestamp by a step; it is the words that count.
    bound = None if used == "float32" == compute_type else first_timestamp
    model = WhisperForConditionalGeneration.from_pretrained(source).float().eval()
    batches = [answers[at : at + _TOGETHER] for at in range(0, len(answers), _TOGETHER)]
    errors: list[float] = []
    rounding: list[float] = []
    wanted_words: list[str] = []
    for batch in conditions.progress.over(batches, "comparing windows"):
        features = torch.cat([_features(extractor, answer.audio) for answer in batch])
        with torch.inference_mode():
            encoded = model.model.encoder(features)
            wanted = encoded.last_hidden_state.numpy()
            if used.startswith(_INT8):
                with rounded_to_int8(model.model.encoder):
                    rounding += _errors(model.model.encoder(features).last_hidden_state.numpy(), wanted)
        errors += _errors([answer.encoded for answer in batch], wanted)
        wanted_words += [_as_text(tokens, bound) for tokens in reference_tokens(model, encoded, batch)]
    words = [_as_text(answer.tokens, bound) for answer in answers]
    label = f"{compute_type}: {len(answers)} windows"
    checks = [_encoder_check(name, label, compute_type, errors, rounding)]
    limit = 0.0 if compute_type == "float32" else _TOKEN_ERROR_LIMIT
    checks.append(Check(name, f"{label}, other tokens", _token_errors(wanted_words, words), limit))
    if used != compute_type:
        checks.append(not_checked(name, f"{compute_type}: was run in {used} on a processor, never on CUDA"))
    return checks


def _answers(
    target: Path, used: str, windows: list[tuple[str, Float]], conditions: Conditions
) -> tuple[list[Answer], int]:
    """All answers, before the original is loaded, which takes enough memory alone; and the first token of a time."""
    recognizer, window = _recognizer(target, used, conditions.threads), recognizer_module().Window
    answers = []
    for language, audio in conditions.progress.over(windows, "transcribing windows"):
        encoded, tokens = recognizer.decode_greedily(window(audio, language=language))
        answers.append(Answer(language, audio, encoded, tokens, recognizer.most_tokens(len(audio) / _SAMPLE_RATE)))
    return answers, recognizer.first_timestamp


def sentences_for(width: int) -> int:
    """Of each language, for a model of so many dimensions: a wide one's windows are long to compute, and as telling."""
    return 10 if width < _WIDE else 2


def _encoder_check(name: str, label: str, compute_type: str, errors: list[float], rounding: list[float]) -> Check:
    if rounding:
        excess = float(np.mean(errors) / np.mean(rounding))
        return Check(name, f"{label}, encoder's error to that of int8", excess, _INT8_EXCESS_LIMIT)
    return Check(name, f"{label}, encoder's largest error", max(errors), _ENCODER_LIMITS[compute_type])


def _on_a_processor(compute_type: str) -> str:
    """What an export is run in to compare it, where there is a processor alone."""
    if compute_type in ctranslate2.get_supported_compute_types("cpu"):
        return compute_type
    return _INT8 if compute_type.startswith(_INT8) else "float32"


def _recognizer(target: Path, compute_type: str, threads: int) -> Any:
    """The export's recognizer, whose windows are all whole: the original sees no others."""
    settings = json.loads((target / "quartet.json").read_text(encoding="utf-8"))
    whole = {**settings, "min_window_seconds": settings["window_seconds"]}
    (target / "quartet.json").write_text(json.dumps(whole), encoding="utf-8")
    try:
        return recognizer_module().Recognizer(target, compute_type=compute_type, threads=threads, beam_size=1)
    finally:
        (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def spoken_windows(seconds: float, count: int) -> list[tuple[str, Float]]:
    """``count`` sentences a language from espeak-ng as (language, audio [samples] at 16 kHz), none over a window."""
    espeak = Espeak()
    windows = []
    for language, voice in _VOICES:
        for text in sentences(language, 3_000_001, count):
            spoken = espeak.speak(text, voice)
            audio = soxr.resample(spoken.samples.astype(np.float32) / 32768, espeak.sample_rate, _SAMPLE_RATE)
            windows.append((language, audio[: int(seconds * _SAMPLE_RATE)].astype(np.float32)))
    return windows


def _features(extractor: Any, audio: Float) -> torch.Tensor:
    features: torch.Tensor = extractor(audio, sampling_rate=_SAMPLE_RATE, return_tensors="pt").input_features
    return features


def _errors(outputs: Sequence[Float] | Float, wanted: Float) -> list[float]:
    """Of each encoder output, the length of its difference from the wanted one, relative to that one's."""
    pairs = zip(outputs, wanted, strict=True)
    return [float(np.linalg.norm(output - each) / np.linalg.norm(each)) for output, each in pairs]


@contextmanager
def rounded_to_int8(encoder: torch.nn.Module) -> Iterator[None]:
    """Within the block ``encoder`` computes as int8 does: each row of a linear layer's inputs and each of its weights'
    columns is rounded to 255 steps.
    """
    hooks = [
        hook
        for layer in encoder.modules()
        if isinstance(layer, torch.nn.Linear)
        for hook in _rounding_hooks(layer, layer.weight.data)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _rounding_hooks(layer: torch.nn.Linear, weight: torch.Tensor) -> tuple[Any, Any]:
    """The layer's weights are rounded for as long as it computes: all of a large encoder's would be 2.5 GB more."""

    def begin(_: Any, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        layer.weight.data = _in_steps(weight)
        return (_in_steps(given[0]),)

    def end(*_: Any) -> None:
        layer.weight.data = weight

    return layer.register_forward_pre_hook(begin), layer.register_forward_hook(end, always_call=True)


def _in_steps(rows: torch.Tensor) -> torch.Tensor:
    step = rows.abs().amax(dim=-1, keepdim=True).clamp_min(1e-12) / 127
    return torch.round(rows / step) * step


def reference_tokens(model: Any, encoded: Any, answers: Sequence[Answer]) -> list[list[int]]:
    """Greedy tokens with timestamps from ``transformers``, without task and end tokens, to compare with ``answers``.

    ``encoded`` is what the model's encoder gave. It is decoded by the generate of every model with Whisper's own logits
    processors: Whisper's wrapper around it would start again behind the last timestamp.
    """
    settings = copy.deepcopy(model.generation_config)
    start, task = settings.decoder_start_token_id, settings.task_to_id["transcribe"]
    tasks = [[start, settings.lang_to_id[f"<|{answer.language}|>"], task] for answer in answers]
    begin = len(tasks[0])
    processors = [
        SuppressTokensLogitsProcessor(settings.suppress_tokens),
        SuppressTokensAtBeginLogitsProcessor(settings.begin_suppress_tokens, begin_index=begin),
        WhisperTimeStampLogitsProcessor(settings, begin_index=begin),
    ]
    settings.max_length, settings.suppress_tokens, settings.begin_suppress_tokens = None, None, None
    with torch.inference_mode():
        rows = GenerationMixin.generate(
            model,
            encoder_outputs=encoded,
            decoder_input_ids=torch.tensor(tasks),
            generation_config=settings,
            logits_processor=LogitsProcessorList(processors),
            max_new_tokens=max(answer.most for answer in answers),
            do_sample=False,
            num_beams=1,
        ).tolist()
    told = [row[begin : begin + answer.most] for row, answer in zip(rows, answers, strict=True)]
    return [_until(tokens, settings.eos_token_id) for tokens in told]


def _until(tokens: list[int], end: int) -> list[int]:
    return tokens[: tokens.index(end)] if end in tokens else tokens


def _as_text(tokens: Sequence[int], bound: int | None) -> str:
    """Tokens as words to count errors in; those from ``bound`` on are left out."""
    return " ".join(str(token) for token in tokens if bound is None or token < bound)


def _token_errors(wanted: list[str], found: list[str]) -> float:
    """The tokens to put in, take out or change, as a share of those wanted."""
    counted = jiwer.process_words(wanted, found)
    errors = counted.substitutions + counted.deletions + counted.insertions
    return errors / max(1, sum(len(each.split()) for each in wanted))
