"""Text to speech: Quartet beside Piper's own server with the voice joe, and beside kokoro-onnx with one of Kokoro's."""

import random

from frontend.catalogue.kokoro import DEMO_SPEAKERS
from lab.peers.checkpoints import VOICE, Checkpoints
from lab.peers.sides import Bench, Case
from scripts.benchmark.common.inputs import Call, speech_text
from scripts.run.state import REPOSITORY

_CALLERS, _KOKORO_CALLERS = 8, 4
_LONG_TEXT = 2000


def _spoken(bench: Bench, name: str, texts: list[str]) -> Case:
    own = {"voice": VOICE, "model": "tts-1", "response_format": "wav"}
    calls = [Call("/audio/speech", 0, {**own, "input": text}) for text in texts]
    voice = Checkpoints(bench.folder).voice()
    piper = (bench.audio_peers / "python", "-m", "piper.http_server", "-m", voice, "--host", "127.0.0.1")
    piper_calls = [Call("/synthesize", 0, {"text": text}) for text in texts]
    sides = {
        "Quartet": bench.product(REPOSITORY, calls, len(texts)),
        "piper-tts' server": bench.server(
            "piper", (*piper, "--port", "{port}"), "/voices", piper_calls, len(texts), base=""
        ),
    }
    return Case(name, "characters", sum(map(len, texts)), sides)


def long_speech(bench: Bench) -> Case:
    """One text of 2,000 characters."""
    return _spoken(bench, "long speech", [speech_text(random.Random(1), _LONG_TEXT)])


def speech(bench: Bench) -> Case:
    """8 callers, each with a text of about 300 characters."""
    rng = random.Random(2)
    return _spoken(bench, "speech", [speech_text(rng, rng.randint(200, 400)) for _ in range(_CALLERS)])


def _spoken_by_kokoro(bench: Bench, name: str, texts: list[str]) -> Case:
    (speaker,) = (each for each in DEMO_SPEAKERS if each.voice.language == "en")
    own = {"voice": speaker.voice.name, "model": "tts-1", "response_format": "wav"}
    calls = [Call("/audio/speech", 0, {**own, "input": text}) for text in texts]
    graph, styles = Checkpoints(bench.folder).kokoro()
    options = (graph, styles, speaker.style, speaker.espeak_voice)
    sides = {
        "Quartet": bench.product(REPOSITORY, calls, len(texts)),
        "kokoro-onnx": bench.worker(bench.audio_peers, texts, "kokoro_onnx_speaks.py", *options),
    }
    return Case(name, "characters", sum(map(len, texts)), sides)


def long_kokoro(bench: Bench) -> Case:
    """One text of 2,000 characters, by Kokoro."""
    return _spoken_by_kokoro(bench, "long text by Kokoro", [speech_text(random.Random(1), _LONG_TEXT)])


def kokoro(bench: Bench) -> Case:
    """4 callers, each with a text of about 300 characters, by Kokoro."""
    rng = random.Random(2)
    texts = [speech_text(rng, rng.randint(200, 400)) for _ in range(_KOKORO_CALLERS)]
    return _spoken_by_kokoro(bench, "Kokoro", texts)
