"""The sentences of the measurement of voices, and what it keeps."""

from pathlib import Path

import pytest

from lab.probes.understood import Heard, percent, store
from scripts.benchmark.common.sentences import sentences


@pytest.mark.parametrize("language", ["en", "de", "fr", "it"])
def test_each_language_has_four_sentences_of_fifteen_kinds(language: str) -> None:
    kinds = [kind for kind, _ in sentences(language)]
    assert {kinds.count(kind) for kind in kinds} == {4}
    assert len(kinds) == 60
    assert all(len(text.split()) >= 25 for kind, text in sentences(language) if kind == "long")


def test_files_that_are_kept_have_the_numbers_of_the_sentences(tmp_path: Path) -> None:
    heard = [Heard("names", "Anna", "Hannah", b"RIFF", 1, 1), Heard("lists", "a, b, c", "a b c", b"RIFF", 3, 0)]
    store(heard, tmp_path / "anna")
    assert [path.name for path in sorted((tmp_path / "anna").iterdir())] == ["1.wav", "2.wav", "heard.tsv"]
    assert (tmp_path / "anna" / "heard.tsv").read_text(encoding="utf-8").splitlines()[1] == "1\t1\t1\tAnna\tHannah"
    assert percent(heard) == "25.0"
