"""``quartet verify`` accepts the demo, and refuses it as the real models or with files of other models."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from client.verify.facts import Facts, load
from scripts.run.known_answers import variables
from scripts.run.preflight import Choice
from scripts.run.stack import Stack
from tests.conftest import ROOT
from tests.faults.served import FRONTEND, Served
from tests.frontends import named

pytestmark = pytest.mark.triton
MODELS = ROOT / "model_repository"


def other_tokenizer(repository: Path) -> None:
    """Give the embedder the tokenizer of an uncased model: what begins with a capital letter is other tokens."""
    path = repository / "m3_embedder/1/tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    tokenizer["normalizer"] = {"type": "Lowercase"}
    path.write_text(json.dumps(tokenizer), encoding="utf-8")


def phonemes_moved(repository: Path) -> None:
    """Give every phoneme of Kokoro's voices the number of the next."""
    path = repository / "kokoro/1/voices.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    known = settings["ids"]
    sounds = [symbol for symbol in known if symbol.isalpha()]
    numbers = dict(zip(sounds, [known[symbol] for symbol in [*sounds[1:], sounds[0]]], strict=True))
    path.write_text(json.dumps(settings | {"ids": known | numbers}), encoding="utf-8")


def _verify(values: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "client", "verify", *arguments],
        cwd=ROOT,
        env={**os.environ, **variables(Choice("run"), MODELS), **values},
        capture_output=True,
        text=True,
        check=False,
    )


def _wrong(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.endswith("FAILED")]


@pytest.fixture
async def mistaken(stack: Stack, tmp_path: Path) -> AsyncIterator[Served]:
    """A frontend before the same Triton, with the tokenizer of another embedder and phonemes of voices mixed up."""
    for name in ("quartet.json", "tokenizer.json", "voice.json", "voices.json", "exported.json", "*.npy"):
        for path in MODELS.rglob(name):
            (tmp_path / path.relative_to(MODELS)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tmp_path / path.relative_to(MODELS))
    other_tokenizer(tmp_path)
    phonemes_moved(tmp_path)
    own = named(MODEL_REPOSITORY=tmp_path, USAGE_FOLDER=tmp_path / "usage", DATABASE=stack._settings.database)
    served = Served({**stack.environment(), **own}, tmp_path / "log", FRONTEND)
    try:
        await served.start()
        yield served
    finally:
        served.kill()


def _some() -> Facts:
    """The demo's facts with one sentence to say, and few people to hear: all take minutes of two processors."""
    demo = load("demo")
    recordings = [
        replace(
            each,
            spoken={voice: spoken[:1] for voice, spoken in each.spoken.items()},
            # The demo's other Whisper is the same one.
            heard={"stt-1": each.heard["stt-1"][:3], "stt-1-hd": each.heard["stt-1-hd"][:1]},
        )
        for each in demo.recordings
    ]
    speech = replace(demo.speech, sentences={"en": demo.speech.sentences["en"][:1]})
    people = replace(demo.people, word_error={"en": demo.people.word_error["en"]})
    return replace(demo, speech=speech, people=people, recordings=recordings)


# Whispers that share processors with others take many times as long.
@pytest.mark.timeout(900)
def test_the_demo_gives_its_known_answers(stack: Stack, tmp_path: Path) -> None:
    facts = tmp_path / "facts.json"
    facts.write_bytes(_some().to_json())
    done = _verify(stack.environment(), "--facts", str(facts))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("facts hold, 0 do not\n")


def test_the_demo_does_not_answer_as_the_real_models_do(stack: Stack) -> None:
    done = _verify(stack.environment(), "--facts", "hub", "--only", "embeddings", "--only", "rerank")
    assert done.returncode == 1
    # The tokenizer is that of the real models.
    assert {line.partition(" of: ")[0] for line in _wrong(done)} >= {"cosine", "score"}


async def test_a_frontend_with_other_files_is_not_verified(mistaken: Served, stack: Stack, tmp_path: Path) -> None:
    facts = tmp_path / "facts.json"
    facts.write_bytes(_some().to_json())
    there = {**stack.environment(), **named(URL=mistaken.url)}
    done = _verify(there, "--facts", str(facts), "--only", "embeddings", "--only", "speech")
    assert done.returncode == 1
    wrong = _wrong(done)
    assert any(line.startswith("tokens of: ") for line in wrong)
    # Outlines of sounds are of no use here: another rounding moves Kokoro's sounds by a frame.
    assert any("hears amy: word error" in line for line in wrong)
