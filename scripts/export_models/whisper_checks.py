"""Compares an exported Whisper with its original in ``transformers``, on recordings of people.

The words that both hear and the encoder's outputs are compared. In int8, the encoder may lose what int8 loses: the
original runs again with the weights and inputs of its linear layers rounded to int8, and the export's error must be
about as large. Short recordings are heard with little silence and with all of it: with little, some checkpoints may
repeat themselves.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import ctranslate2
import jiwer
import numpy as np
import torch
from numpy.typing import NDArray
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperTokenizerFast

from client.recordings import SAMPLE_RATE, Recorded, recordings, words
from scripts.export_models.checkpoints import read_json
from scripts.export_models.parity import Check, not_checked
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.triton_code import recognizer_module
from scripts.machine import processors

# Silence between two recordings in a window.
_PAUSE_SECONDS = 0.5
_MOST_TOKENS = 200
_INT8 = "int8"
# The largest relative error of the encoder's output, by the type of its weights.
_ENCODER_LIMITS = {"float32": 1e-4, "float16": 5e-3, "int16": 5e-3, "bfloat16": 3e-2}
_INT8_EXCESS_LIMIT = 1.15
_WORD_ERROR_LIMIT = 0.03
# The shortest recordings of each language. Seconds of each are heard alone too: loops come in short windows.
_OF_A_LANGUAGE, _BEGINNING = 2, 1.5
# The largest share of windows that are recognised again with all of their silence. Whisper base has none.
_AGAIN_LIMIT = 0.25

Float = NDArray[np.float32]


@dataclass(frozen=True)
class Spoken:
    """A window of recordings in one language, and the words in it."""

    language: str
    text: str
    audio: Float


@dataclass(frozen=True)
class Heard:
    """The encoder's output [frames, width] for a window, and the text."""

    encoded: Float
    text: str


@dataclass(frozen=True)
class LittleSilence:
    """What little silence changes in so many ``windows``; ``again`` is the share that had to be recognised twice."""

    windows: int
    more_words_wrong: float
    again: float

    @property
    def harms(self) -> bool:
        return self.more_words_wrong > _WORD_ERROR_LIMIT or self.again > _AGAIN_LIMIT

    @property
    def what(self) -> str:
        kept = "; windows are all encoded whole" if self.harms else ""
        again = f"{self.again:.0%} of {self.windows} again"
        return f"short windows, more words wrong with little silence ({again}{kept})"


def compare(source: Path, target: Path, name: str, compute_type: str, progress: Progress = SILENT) -> list[Check]:
    """Compare the export in ``target`` with its original in ``source``, on recordings in five languages."""
    used = _on_a_processor(compute_type)
    extractor = WhisperFeatureExtractor.from_pretrained(source)
    settings = read_json(target / "quartet.json")
    windows = [each for each in spoken_windows(extractor.chunk_length) if each.language in settings["languages"]]
    # Before the original is loaded, to save memory.
    ours, silence = _heard(target, used, windows, progress)
    original = _Original(source, extractor)
    theirs, rounding = [], []
    for window in progress.over(windows, "comparing windows"):
        theirs.append(original.hear(window))
        if used.startswith(_INT8):
            rounding.append(_error(original.encode_in_int8(window), theirs[-1].encoded))
    errors = [_error(our.encoded, their.encoded) for our, their in zip(ours, theirs, strict=True)]
    label = f"{compute_type}: {len(windows)} windows"
    said, heard, wanted = ([words(each.text) for each in some] for some in (windows, ours, theirs))
    more = word_error(said, heard) - word_error(said, wanted)
    checks = [
        _encoder_check(name, label, compute_type, errors, rounding),
        Check(name, f"{label}, more words wrong than the original's", more, _WORD_ERROR_LIMIT),
        Check(name, f"{label}, words unlike the original's", word_error(wanted, heard), np.inf),
        Check(name, f"{compute_type}: {silence.what}", silence.more_words_wrong, np.inf),
    ]
    if used != compute_type:
        checks.append(not_checked(name, f"{compute_type}: was run in {used} on a processor, never on CUDA"))
    return checks


def spoken_windows(seconds: float) -> list[Spoken]:
    """The recordings of people, as many of a language in each window of ``seconds`` as fit."""
    pause = np.zeros(int(_PAUSE_SECONDS * SAMPLE_RATE), np.float32)
    windows: list[Spoken] = []
    for recording in recordings():
        audio = recording.samples()[: int(seconds * SAMPLE_RATE)]
        last = windows[-1] if windows else None
        if last and last.language == recording.language:
            joined = np.concatenate([last.audio, pause, audio])
            if len(joined) <= seconds * SAMPLE_RATE:
                windows[-1] = Spoken(last.language, f"{last.text} {recording.text}", joined)
                continue
        windows.append(Spoken(recording.language, recording.text, audio))
    return windows


def _heard(target: Path, used: str, windows: Sequence[Spoken], progress: Progress) -> tuple[list[Heard], LittleSilence]:
    """What the export hears in the windows, and in short ones. ``quartet.json`` is changed if little silence harms."""
    module = recognizer_module()
    recognizer = module.Recognizer(target, compute_type=used, threads=processors())
    languages = {window.language for window in windows}
    silence = little_silence(recognizer, [each for each in short_recordings() if each.language in languages], progress)
    if silence.harms:
        settings = read_json(target / "quartet.json")
        settings["silence_seconds"] = settings["window_seconds"]
        (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    heard = []
    for window in progress.over(windows, "transcribing windows"):
        audio = module.Window(window.audio, language=window.language)
        (transcript,) = recognizer.transcribe([audio])
        heard.append(Heard(recognizer.encoder_output(audio), "".join(word.text for word in transcript.words)))
    return heard, silence


class _Original:
    """A checkpoint in ``transformers``, in float32."""

    def __init__(self, source: Path, extractor: WhisperFeatureExtractor) -> None:
        self._extractor = extractor
        self._tokenizer = WhisperTokenizerFast(tokenizer_file=str(source / "tokenizer.json"))
        self._model = WhisperForConditionalGeneration.from_pretrained(source).float().eval()

    def hear(self, window: Spoken) -> Heard:
        encoded = self._encode(window)
        tokens = reference_tokens(self._model, encoded, window.language)
        return Heard(encoded.last_hidden_state[0].numpy(), self._tokenizer.decode(tokens, skip_special_tokens=True))

    def encode_in_int8(self, window: Spoken) -> Float:
        """The encoder's output [frames, width] if its linear layers compute in int8."""
        with rounded_to_int8(self._model.model.encoder):
            output: Float = self._encode(window).last_hidden_state[0].numpy()
        return output

    def _encode(self, window: Spoken) -> Any:
        features = self._extractor(window.audio, sampling_rate=SAMPLE_RATE, return_tensors="pt").input_features
        with torch.inference_mode():
            return self._model.model.encoder(features)


def _encoder_check(name: str, label: str, compute_type: str, errors: list[float], rounding: list[float]) -> Check:
    if rounding:
        excess = float(np.mean(errors) / np.mean(rounding))
        return Check(name, f"{label}, encoder's error to that of int8", excess, _INT8_EXCESS_LIMIT)
    return Check(name, f"{label}, encoder's largest error", max(errors), _ENCODER_LIMITS[compute_type])


def _on_a_processor(compute_type: str) -> str:
    """The compute type in which an export is compared on a processor."""
    if compute_type in ctranslate2.get_supported_compute_types("cpu"):
        return compute_type
    return _INT8 if compute_type.startswith(_INT8) else "float32"


def _error(output: Float, wanted: Float) -> float:
    """The relative error of an encoder output, by Euclidean norms."""
    return float(np.linalg.norm(output - wanted) / np.linalg.norm(wanted))


@contextmanager
def rounded_to_int8(encoder: torch.nn.Module) -> Iterator[None]:
    """Within the block, round each row of the inputs and each column of the weights of linear layers to 255 steps."""
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
    """Round the weights only while the layer computes: rounding all of a large encoder's would take 2.5 GB more."""

    def begin(_: Any, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        layer.weight.data = _rounded(weight)
        return (_rounded(given[0]),)

    def end(*_: Any) -> None:
        layer.weight.data = weight

    return layer.register_forward_pre_hook(begin), layer.register_forward_hook(end, always_call=True)


def _rounded(rows: torch.Tensor) -> torch.Tensor:
    scale = rows.abs().amax(dim=-1, keepdim=True).clamp_min(1e-12) / 127
    return torch.round(rows / scale) * scale


def reference_tokens(model: Any, encoded: Any, language: str) -> list[int]:
    """Greedy decoding by a model in ``transformers`` with Whisper's rules; returns the text tokens.

    ``encoded`` is the encoder's output for a window. The model's own ``generate`` would choose windows by itself.
    """
    rules = model.generation_config
    start, end = rules.decoder_start_token_id, rules.eos_token_id
    # A Whisper of English alone has learned neither languages nor tasks.
    known = getattr(rules, "lang_to_id", None)
    task = [known[f"<|{language}|>"], rules.task_to_id["transcribe"]] if known else []
    bias = torch.zeros(model.config.vocab_size)
    # The tokens after the end token are special ones and times.
    bias[rules.suppress_tokens or []] = bias[end + 1 :] = -torch.inf
    first = bias.clone()
    first[rules.begin_suppress_tokens or []] = -torch.inf
    given = [start, *task, rules.no_timestamps_token_id]
    tokens: list[int] = []
    past = None
    with torch.inference_mode():
        while len(tokens) < min(_MOST_TOKENS, model.config.max_target_positions // 2):
            answer = model(encoder_outputs=encoded, decoder_input_ids=torch.tensor([given]), past_key_values=past)
            token = int((answer.logits[0, -1] + (bias if tokens else first)).argmax())
            if token == end:
                break
            tokens.append(token)
            given, past = [token], answer.past_key_values
    return tokens


# Short windows


def short_recordings() -> list[Recorded]:
    """The shortest recordings of people in each language."""
    found = sorted(recordings(), key=lambda each: (each.language, each.seconds))
    return [each for _, some in groupby(found, lambda each: each.language) for each in list(some)[:_OF_A_LANGUAGE]]


def little_silence(recognizer: Any, people: Sequence[Recorded], progress: Progress = SILENT) -> LittleSilence:
    """Hear people with little silence and with all of it; the ``recognizer`` is left as it was."""
    window, encoder = recognizer_module().Window, recognizer.encoder
    spoken = [window(each.samples(), language=each.language) for each in people]
    begun = [window(each.audio[: round(_BEGINNING * SAMPLE_RATE)], language=each.language) for each in spoken]

    def heard(windows: Sequence[Any]) -> list[list[str]]:
        transcripts = (recognizer.transcribe([each])[0] for each in progress.over(windows, "hearing short windows"))
        return [words("".join(word.text for word in transcript.words)) for transcript in transcripts]

    before, silence_seconds = recognizer.second_passes, encoder.silence_seconds
    brief = heard([*spoken, *begun])[: len(spoken)]
    again = (recognizer.second_passes - before) / max(1, len(spoken) + len(begun))
    encoder.silence_seconds = encoder.longest / SAMPLE_RATE
    whole = heard(spoken)
    encoder.silence_seconds = silence_seconds
    said = [words(each.text) for each in people]
    return LittleSilence(len(spoken) + len(begun), word_error(said, brief) - word_error(said, whole), again)


def word_error(wanted: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """The words to insert, remove or replace, as a share of those wanted."""
    if not wanted:
        return 0.0
    counted = jiwer.process_words([" ".join(each) for each in wanted], [" ".join(each) for each in found])
    errors = counted.substitutions + counted.deletions + counted.insertions
    return errors / max(1, sum(map(len, wanted)))
