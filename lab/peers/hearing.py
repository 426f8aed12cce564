"""Transcription of people's recordings by the product over HTTP and by peers in process, with the same Whisper base."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from frontend.config.reading import PREFIX
from lab.peers.checkpoints import COMPUTE_TYPE, Checkpoints
from lab.peers.recorded import Recording, clips, long_recording, other_recording
from lab.peers.sides import Bench, Case, HttpSide, Opener, Side
from lab.peers.word_errors import Heard
from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.target import Target, own_product
from scripts.run.state import REPOSITORY

# What is heard in each language.
_KINDS = {
    "clips": clips,
    "file": lambda language: [long_recording(language)],
    "other": lambda language: [other_recording(language)],
}
CASES = tuple(f"{kind}-{language}" for kind in _KINDS for language in ("en", "es", "fr", "it"))
_THREADS, _CALLERS = 2, 8
# The most windows of one recording in flight: one, and enough to fill the models.
_WINDOWS = (1, 8)
_TIMES = {"text": "", "words": ", word times"}
_MODELS = {"stt-1": "beam 2", "stt-1-hd": "beam 5"}


def hearing(bench: Bench, name: str) -> Case:
    """A file of ten minutes or one of other prompts by one caller, or 60 clips by 8 callers, in one language."""
    kind, _, language = name.partition("-")
    recordings = _KINDS[kind](language)
    files = [str(each.write(bench.folder / "recordings", f"{name}-{at}")) for at, each in enumerate(recordings)]
    callers = _CALLERS if kind == "clips" else 1
    models = Checkpoints(bench.folder)
    sides = _product(recordings, callers)
    for way in ("sequential", "batched"):
        for beam in (1, 5):
            for answer in _TIMES:
                search = "greedy" if beam == 1 else f"beam {beam}"
                options = (COMPUTE_TYPE, _THREADS, language, way, beam, answer)
                sides[f"faster-whisper, {way}, {search}{_TIMES[answer]}"] = _worker(
                    bench,
                    bench.audio_peers,
                    files,
                    "faster_whisper_hears.py",
                    models.whisper_for_faster_whisper,
                    options,
                )
    for answer in _TIMES:
        sides[f"OpenVINO GenAI, int8, greedy{_TIMES[answer]}"] = _worker(
            bench, bench.engines, files, "whisper_genai.py", models.whisper, (_THREADS, language, answer)
        )
    return Case(name, "seconds of audio", sum(each.seconds for each in recordings), sides, recordings)


def _product(recordings: Sequence[Recording], callers: int) -> dict[str, Opener]:
    """Sides of the product: both Whisper models, with word times."""
    calls = {model: [_call(model, recording) for recording in recordings] for model in _MODELS}
    started: dict[int, Target] = {}

    def opener(model: str, windows: int) -> Opener:
        def start(stack: ExitStack) -> Side:
            if windows not in started:
                variables = {f"{PREFIX}WINDOWS_AT_ONCE": str(windows)}
                started[windows] = stack.enter_context(own_product(REPOSITORY, variables=variables))
            return HttpSide(started[windows], calls[model], callers, _answered)

        return start

    # Clips have one window each.
    return {
        f"Quartet {model}, {search}{_TIMES['words']}{f', {many} windows at once' if many > 1 else ''}": opener(
            model, many
        )
        for many in (_WINDOWS if callers == 1 else _WINDOWS[:1])
        for model, search in _MODELS.items()
    }


def _call(model: str, recording: Recording) -> Call:
    words = ("timestamp_granularities[]", "word")
    fields = (("model", model), ("language", recording.language), ("response_format", "verbose_json"), words)
    return Call("/audio/transcriptions", recording.seconds, file=recording.file, fields=fields)


def _answered(content: bytes) -> Heard:
    said: dict[str, Any] = json.loads(content)
    return Heard(said["text"], [(word["word"], word["start"], word["end"]) for word in said["words"]])


def _worker(
    bench: Bench, bin_folder: Any, files: list[str], script: str, model: Callable[[], object], options: Sequence[object]
) -> Opener:
    """A peer's worker. Its model is made at the first use."""
    return lambda stack: bench.worker(bin_folder, files, script, model(), *options)(stack)
