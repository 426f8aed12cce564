"""Whisper for windows of many callers: encode once, detect, decode together, decode again the doubtful.

The order of a batch: features and encoder for every window; the language of those that gave none from that same
encoder output; windows whose encoder length, prompt length and temperature agree are decoded together (CTranslate2
demands the start token at one place); windows that look wrong are decoded again at higher temperatures, only they.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate import CTranslate
from decoders import Decoded, GraphDecoder, Special
from encoders import GraphEncoder
from features import SAMPLE_RATE, LogMel
from graphs import DECODER, ENCODER, Processor
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transcript import compression_ratio, decode_pieces, place_words, split_segments, token_times
from windows import InvalidWindowError, Job, Transcript, Window

_FALLBACK_TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0)
_LEAST_LOGPROB = -1.0
_MOST_COMPRESSION = 2.4
_NO_SPEECH = 0.6
_TOKENS_PER_SECOND = 25
_LEAST_TOKENS = 24
_TASK_TOKENS = 3
# Windows of a length are decoded together, and each is encoded up to the length it has.
_QUANTUM_SECONDS = 0.5
_SILENT_TAIL_SECONDS = 0.3


class Recognizer:
    """A converted Whisper in ``folder``: CTranslate2's files, ``tokenizer.json``, ``quartet.json``, and perhaps graphs.

    Graphs are for processors: with them OpenVINO encodes, and detects languages and decodes where the beam is 1;
    CTranslate2 does the rest.
    """

    def __init__(
        self,
        folder: Path,
        *,
        device: str = "cpu",
        device_index: int = 0,
        compute_type: str = "default",
        threads: int = 1,
        beam_size: int = 1,
    ) -> None:
        self._ctranslate = CTranslate(
            folder, device=device, device_index=device_index, compute_type=compute_type, threads=threads
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        settings = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
        self._window_samples = int(settings["window_seconds"] * SAMPLE_RATE)
        self._least_samples = int(settings["min_window_seconds"] * SAMPLE_RATE)
        self._context = int(settings["max_target_positions"])
        # A checkpoint that hears worse behind a prompt says so.
        self._takes_prompts = bool(settings.get("prompts", True))
        self._log_mel = LogMel(int(settings["mel_bins"]))
        # A small checkpoint may ask for a wider beam than the configuration of its place has.
        self._beam_size = max(beam_size, int(settings.get("beam_size", 1)))
        self._start = self._id("<|startoftranscript|>")
        self._end = self._id("<|endoftext|>")
        self.first_timestamp = self._id("<|notimestamps|>") + 1
        self._encoder: CTranslate | GraphEncoder = self._ctranslate
        self._decoder: GraphDecoder | None = None
        # Only exports with graphs have these: one whose graphs are missing must not be encoded by what is left of it.
        if "processor_flags" in settings:
            if device != "cpu":
                raise ValueError(f"{folder} was exported for processors: export it with --whisper-compute-type float16")
            processor, greedy = Processor(threads, settings["processor_flags"]), self._beam_size == 1
            self._encoder = GraphEncoder(processor.compiled(folder / ENCODER, handing=greedy))
            if greedy:
                special = self._special(folder)
                self._decoder = GraphDecoder(processor.compiled(folder / DECODER), processor.handed, special)

    def _special(self, folder: Path) -> Special:
        """The tokens of which CTranslate2's own configuration tells, and those that each Whisper has."""
        known = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        silent = self._tokenizer.token_to_id("<|nospeech|>") or self._id("<|nocaptions|>")
        return Special(self._start, self._end, silent, self.first_timestamp, known["suppress_ids"], known["lang_ids"])

    def _id(self, token: str) -> int:
        identity = self._tokenizer.token_to_id(token)
        if identity is None:
            raise InvalidWindowError(f"the model has no token {token}")
        return int(identity)

    def transcribe(self, windows: list[Window]) -> list[Transcript]:
        """One transcript a window, in order."""
        for window in windows:
            self._check(window)
        jobs = self._encode(windows)
        self._detect_languages(jobs)
        for job in jobs:
            job.prompt = self._prompt(job)
        self._decode_together(jobs, None)
        for temperature in _FALLBACK_TEMPERATURES:
            doubtful = [job for job in jobs if job.window.sampling_temperature == 0 and self._is_doubtful(job)]
            if not doubtful:
                break
            self._decode_together(doubtful, temperature)
        self._align([job for job in jobs if job.window.word_timestamps])
        return [self._finished(job) for job in jobs]

    def most_tokens(self, seconds: float, prompt: int = _TASK_TOKENS) -> int:
        """How many tokens a window of ``seconds`` may give behind a prompt: a loop must end some time."""
        return min(int(_LEAST_TOKENS + _TOKENS_PER_SECOND * seconds), self._context // 2, self._context - prompt)

    def decode_greedily(self, window: Window) -> tuple[NDArray[np.float32], list[int]]:
        """What exports are compared by: the encoder's output for one window [frames, width], and its tokens.

        The window's language is given, and it is decoded once.
        """
        self._check(window)
        (job,) = self._encode([window])
        job.prompt = self._prompt(job)
        self._decode_together([job], 0.0, beam_size=1)
        return job.encoded.output[0], job.result.tokens

    def _check(self, window: Window) -> None:
        if not 0 < len(window.audio) <= self._window_samples:
            raise InvalidWindowError(f"a window holds 1 to {self._window_samples} samples, not {len(window.audio)}")
        if window.language:
            self._id(f"<|{window.language}|>")

    def _padded_samples(self, samples: int) -> int:
        quantum = int(_QUANTUM_SECONDS * SAMPLE_RATE)
        # Speech that fills its window to the last sample tempts the model to go on behind it.
        rounded = -(-(samples + int(_SILENT_TAIL_SECONDS * SAMPLE_RATE)) // quantum) * quantum
        return min(max(rounded, self._least_samples), self._window_samples)

    def _encode(self, windows: list[Window]) -> list[Job]:
        """Windows of a length are encoded together where that is faster."""
        jobs = [Job(window, self._padded_samples(len(window.audio)), window.language) for window in windows]
        for alike in self._groups(jobs, lambda job: job.samples):
            for group in [alike] if self._encoder.together else [[job] for job in alike]:
                features = np.stack([self._log_mel(job.window.audio, job.samples) for job in group])
                for job, encoded in zip(group, self._encoder.encode(features), strict=True):
                    job.encoded = encoded
        return jobs

    def _groups(self, jobs: Iterable[Job], key: Callable[[Job], Any]) -> list[list[Job]]:
        groups: dict[Any, list[Job]] = defaultdict(list)
        for job in jobs:
            groups[key(job)].append(job)
        return list(groups.values())

    def _detect_languages(self, jobs: list[Job]) -> None:
        unknown = [job for job in jobs if not job.language]
        for group in self._groups(unknown, lambda job: job.frames):
            windows = [job.encoded for job in group]
            if self._decoder:
                tokens = [self._tokenizer.id_to_token(token) for token in self._decoder.languages(windows)]
            else:
                tokens = self._ctranslate.languages(windows)
            for job, token in zip(group, tokens, strict=True):
                job.language = token.strip("<|>")

    def _prompt(self, job: Job) -> list[int]:
        task = [self._start, self._id(f"<|{job.language}|>"), self._id("<|transcribe|>")]
        text = job.window.prompt.strip()
        if not text or not self._takes_prompts:
            return task
        previous = self._tokenizer.encode(" " + text, add_special_tokens=False).ids
        return [self._id("<|startofprev|>"), *previous[-(self._context // 2 - 1) :], *task]

    def _decode_together(self, jobs: list[Job], override: float | None, beam_size: int | None = None) -> None:
        """Decode at the temperature each caller gave, or all at ``override``."""

        def temperature_of(job: Job) -> float:
            return job.window.sampling_temperature if override is None else override

        def alike(job: Job) -> tuple[int, int, float]:
            return job.frames, len(job.prompt), temperature_of(job)

        for group in self._groups(jobs, alike):
            temperature = temperature_of(group[0])
            seconds = max(len(job.window.audio) for job in group) / SAMPLE_RATE
            most = self.most_tokens(seconds, len(group[0].prompt))
            beam = beam_size or self._beam_size
            windows, prompts = [job.encoded for job in group], [job.prompt for job in group]
            if self._decoder and not temperature and beam == 1:
                results = self._decoder.decode(windows, prompts, most)
            else:
                results = self._ctranslate.search(windows, prompts, most, temperature, beam)
            for job, result in zip(group, results, strict=True):
                self._keep(job, result)

    def _keep(self, job: Job, result: Decoded) -> None:
        tokens = result.tokens
        seconds = len(job.window.audio) / SAMPLE_RATE
        segments = split_segments(tokens, self.first_timestamp, self._end, seconds)
        for segment in segments:
            segment.text = self._tokenizer.decode(segment.tokens)
        # Whisper's average counts the end token too.
        logprob = result.logprob / (len(tokens) + 1)
        job.result = Transcript(job.language, segments, logprob, result.no_speech_prob, tokens=tokens)

    @staticmethod
    def _is_doubtful(job: Job) -> bool:
        result = job.result
        if result.no_speech_prob > _NO_SPEECH:
            return False
        text = "".join(segment.text for segment in result.segments)
        return result.avg_logprob < _LEAST_LOGPROB or compression_ratio(text) > _MOST_COMPRESSION

    @staticmethod
    def _finished(job: Job) -> Transcript:
        result = job.result
        if result.no_speech_prob > _NO_SPEECH and result.avg_logprob < _LEAST_LOGPROB:
            return Transcript(result.language, [], result.avg_logprob, result.no_speech_prob)
        return result

    def _align(self, jobs: list[Job]) -> None:
        """Word times from the cross-attention of the checkpoint's alignment heads."""
        spoken = [job for job in jobs if job.result.segments]
        for group in self._groups(spoken, lambda job: (job.frames, job.language)):
            tokens = [[t for s in job.result.segments for t in s.tokens] for job in group]
            start = [self._start, self._id(f"<|{group[0].language}|>"), self._id("<|transcribe|>")]
            frames = [min(len(job.window.audio) // 320 + 1, job.frames) for job in group]
            results = self._ctranslate.align([job.encoded for job in group], start, tokens, [f * 2 for f in frames])
            for job, ids, aligned in zip(group, tokens, results, strict=True):
                pieces = [decode_pieces(s.tokens, self._tokenizer.decode) for s in job.result.segments]
                times = token_times(aligned.alignments, len(ids))
                job.result.words = place_words(
                    job.result.segments, pieces, times, aligned.text_token_probs, job.language
                )
