"""Speech to text against faster-whisper and CTranslate2 alone, text to speech against Piper's own server."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from scripts.benchmark.common.inputs import Call, clip, speech_text
from scripts.benchmark.common.target import Target, own_product
from scripts.benchmark.lookalikes.repository import COMPUTE_TYPE, VOICE, Checkpoints, put_voice, put_whisper
from scripts.benchmark.peers.sides import Bench, Case, HttpSide, Side, WorkerSide, server, worker

_CALLERS = 8
_THREADS = 2
_CLIP_SECONDS = (5.0, 15.0)
_FILE_SECONDS = 600.0
_LONG_TEXT = 2000


def _written(bench: Bench, seed: int, shortest: float, longest: float) -> tuple[Path, float]:
    content, seconds = clip(seed, shortest, longest)
    path = bench.folder / f"clip-{seed}-{longest:.0f}.wav"
    path.write_bytes(content)
    return path, seconds


def _transcriptions(files: list[Path]) -> list[Call]:
    fields = (("model", "stt-1"), ("language", "en"))
    return [Call("/audio/transcriptions", 0, file=file.read_bytes(), fields=fields) for file in files]


@contextmanager
def _heard(bench: Bench, name: str, clips: list[tuple[Path, float]], callers: int) -> Iterator[Case]:
    checkpoints = Checkpoints(bench.folder)
    put_whisper(bench.folder / "int8", checkpoints.whisper())
    files = [path for path, _ in clips]
    options = (checkpoints.whisper_for_peers(), COMPUTE_TYPE, _THREADS)
    python = bench.audio_peers / "python"
    with ExitStack() as stack:
        target = stack.enter_context(own_product(bench.folder / "int8"))
        sides: dict[str, Side] = {"Quartet": HttpSide(target, _transcriptions(files), callers)}
        alone = stack.enter_context(bench.own_worker("ctranslate.py", *options, _CALLERS))
        sides["CTranslate2 in process"] = WorkerSide(alone, [str(file) for file in files])
        batched = stack.enter_context(worker(python, bench.log("batched"), "whisper_batched.py", *options))
        sides["faster-whisper, batched, in process"] = WorkerSide(batched, [str(file) for file in files])
        command = (python, Path(__file__).parent / "workers" / "whisper_server.py", *options, "{port}")
        address = stack.enter_context(server(command, "/health", bench.log("whisper-server")))
        served = Target(f"{address}/v1", "", "")
        sides["faster-whisper behind HTTP"] = HttpSide(served, _transcriptions(files), callers)
        yield Case(name, "seconds of audio", sum(seconds for _, seconds in clips), sides)


@contextmanager
def transcriptions(bench: Bench) -> Iterator[Case]:
    """8 callers, each with a clip of 5 to 15 s."""
    clips = [_written(bench, seed, *_CLIP_SECONDS) for seed in range(_CALLERS)]
    with _heard(bench, "transcriptions", clips, _CALLERS) as case:
        yield case


@contextmanager
def long_file(bench: Bench) -> Iterator[Case]:
    """One file of ten minutes."""
    with _heard(bench, "long file", [_written(bench, 0, _FILE_SECONDS, _FILE_SECONDS)], 1) as case:
        yield case


@contextmanager
def _spoken(bench: Bench, name: str, texts: list[str]) -> Iterator[Case]:
    voice = Checkpoints(bench.folder).voice()
    put_voice(bench.folder / "int8", voice)
    own = {"voice": VOICE, "model": "tts-1", "response_format": "wav"}
    piper = (bench.audio_peers / "python", "-m", "piper.http_server", "-m", voice, "--host", "127.0.0.1")
    with ExitStack() as stack:
        target = stack.enter_context(own_product(bench.folder / "int8"))
        address = stack.enter_context(server((*piper, "--port", "{port}"), "/voices", bench.log("piper")))
        sides: dict[str, Side] = {
            "Quartet": HttpSide(
                target, [Call("/audio/speech", 0, {**own, "input": text}) for text in texts], len(texts)
            ),
            "piper-tts' server": HttpSide(
                Target(address, "", ""), [Call("/synthesize", 0, {"text": text}) for text in texts], len(texts)
            ),
        }
        yield Case(name, "characters", sum(map(len, texts)), sides)


@contextmanager
def long_speech(bench: Bench) -> Iterator[Case]:
    """One text of 2,000 characters."""
    with _spoken(bench, "long speech", [speech_text(random.Random(1), _LONG_TEXT)]) as case:
        yield case


@contextmanager
def speech(bench: Bench) -> Iterator[Case]:
    """8 callers, each with a text of about 300 characters."""
    rng = random.Random(2)
    with _spoken(bench, "speech", [speech_text(rng, rng.randint(200, 400)) for _ in range(_CALLERS)]) as case:
        yield case
