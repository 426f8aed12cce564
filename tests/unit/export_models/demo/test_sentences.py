"""The demo's sentences."""

import subprocess
import sys

import pytest

from scripts.export_models.demo.sentences import LANGUAGES, load_grammar, sentences, words
from tests.conftest import ROOT


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_vocabulary_has_300_words_or_more(language: str) -> None:
    assert len(load_grammar(language).vocabulary()) >= 300


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_use_the_stated_vocabulary_alone(language: str) -> None:
    known = set(load_grammar(language).vocabulary())
    assert {word for text in sentences(language, 5, 500) for word in words(text)} <= known


def test_the_same_seed_gives_the_same_sentences() -> None:
    assert list(sentences("de", 7, 20)) == list(sentences("de", 7, 20))


def test_another_seed_gives_other_sentences() -> None:
    assert list(sentences("de", 7, 20)) != list(sentences("de", 8, 20))


def test_the_command_prints_as_many_as_asked_for() -> None:
    command = [sys.executable, "-m", "scripts.export_models.demo.sentences", "--language", "fr", "--seed", "7"]
    printed = subprocess.run([*command, "--count", "5"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == list(sentences("fr", 7, 5))
