"""The demo's sentences."""

from scripts.export_models.demo.sentences import sentences


def test_the_same_seed_gives_the_same_sentences() -> None:
    assert list(sentences("de", 7, 20)) == list(sentences("de", 7, 20))


def test_another_seed_gives_other_sentences() -> None:
    assert list(sentences("de", 7, 20)) != list(sentences("de", 8, 20))
