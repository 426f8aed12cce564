"""Speech to text beside faster-whisper and other engines, text to speech beside Piper's own server and sherpa-onnx."""

import math
import random
from pathlib import Path

from scripts.benchmark.common.inputs import Call, clip, speech_text
from scripts.benchmark.lookalikes.repository import COMPUTE_TYPE, VOICE, Checkpoints, put_voice, put_whisper
from scripts.benchmark.peers.real import VOICE as REAL_VOICE
from scripts.benchmark.peers.real import RealModels
from scripts.benchmark.peers.sides import WORKERS, Bench, Case
from scripts.run.state import REPOSITORY

_CALLERS = 8
_THREADS = 2
_CLIP_SECONDS = (5.0, 15.0)
_FILE_SECONDS = 600.0
_LONG_TEXT = 2000
_WINDOW_SECONDS = 30.0


def _written(bench: Bench, seed: int, shortest: float, longest: float) -> tuple[Path, float]:
    content, seconds = clip(seed, shortest, longest)
    path = bench.folder / f"clip-{seed}-{longest:.0f}.wav"
    path.write_bytes(content)
    return path, seconds


def _heard(bench: Bench, name: str, clips: list[tuple[Path, float]], callers: int) -> Case:
    checkpoints = Checkpoints(bench.folder)
    put_whisper(bench.folder / "int8", checkpoints.whisper())
    files = [str(path) for path, _ in clips]
    fields = (("model", "stt-1"), ("language", "en"))
    calls = [Call("/audio/transcriptions", 0, file=path.read_bytes(), fields=fields) for path, _ in clips]
    windows = sum(math.ceil(seconds / _WINDOW_SECONDS) for _, seconds in clips)
    options = (checkpoints.whisper_for_peers(), COMPUTE_TYPE, _THREADS)
    server = (bench.audio_peers / "python", WORKERS / "whisper_server.py", *options, "{port}")
    sides = {
        "Quartet": bench.product(bench.folder / "int8", calls, callers),
        "CTranslate2 in process": bench.worker(bench.own, files, "ctranslate.py", *options, _CALLERS),
        "faster-whisper, batched, in process": bench.worker(bench.audio_peers, files, "whisper_batched.py", *options),
        "faster-whisper behind HTTP": bench.server("whisper-server", server, "/health", calls, callers),
        "OpenVINO GenAI in process": bench.worker(
            bench.engines, files, "whisper_genai.py", checkpoints.whisper_source(), _THREADS, "en", "text"
        ),
        "whisper.cpp in process": bench.worker(
            bench.engines, files, "whisper_cpp.py", checkpoints.whisper_for_cpp(), _THREADS, "en", "one"
        ),
        "the machine's limit: products alone": bench.worker(bench.own, windows, "limit.py", "whisper", _THREADS),
    }
    return Case(name, "seconds of audio", sum(seconds for _, seconds in clips), sides)


def transcriptions(bench: Bench) -> Case:
    """8 callers, each with a clip of 5 to 15 s."""
    clips = [_written(bench, seed, *_CLIP_SECONDS) for seed in range(_CALLERS)]
    return _heard(bench, "transcriptions", clips, _CALLERS)


def long_file(bench: Bench) -> Case:
    """One file of ten minutes."""
    return _heard(bench, "long file", [_written(bench, 0, _FILE_SECONDS, _FILE_SECONDS)], 1)


def _spoken(bench: Bench, name: str, texts: list[str], *, real: bool = False) -> Case:
    models = RealModels(bench.folder) if real else Checkpoints(bench.folder)
    voice, repository = models.voice(), REPOSITORY if real else bench.folder / "int8"
    if not real:
        put_voice(repository, voice)
    own = {"voice": REAL_VOICE if real else VOICE, "model": "tts-1", "response_format": "wav"}
    calls = [Call("/audio/speech", 0, {**own, "input": text}) for text in texts]
    piper = (bench.audio_peers / "python", "-m", "piper.http_server", "-m", voice, "--host", "127.0.0.1")
    its_calls = [Call("/synthesize", 0, {"text": text}) for text in texts]
    sides = {
        "Quartet": bench.product(repository, calls, len(texts)),
        "piper-tts' server": bench.server(
            "piper", (*piper, "--port", "{port}"), "/voices", its_calls, len(texts), base=""
        ),
        "sherpa-onnx in process": bench.worker(bench.engines, texts, "sherpa_voice.py", voice, _THREADS),
    }
    return Case(name, "characters", sum(map(len, texts)), sides)


def long_speech(bench: Bench, name: str, *, real: bool) -> Case:
    """One text of 2,000 characters."""
    return _spoken(bench, name, [speech_text(random.Random(1), _LONG_TEXT)], real=real)


def speech(bench: Bench, name: str, *, real: bool) -> Case:
    """8 callers, each with a text of about 300 characters."""
    rng = random.Random(2)
    return _spoken(bench, name, [speech_text(rng, rng.randint(200, 400)) for _ in range(_CALLERS)], real=real)
