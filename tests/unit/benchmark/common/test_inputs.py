import pytest

from scripts.benchmark.common.inputs import calls


@pytest.mark.parametrize("operation", ["embeddings", "rerank", "speech"])
def test_calls_are_the_same_for_the_same_seed(operation: str) -> None:
    assert calls(operation, 5, seed=3) == calls(operation, 5, seed=3) != calls(operation, 5, seed=4)


def test_texts_are_of_mixed_lengths() -> None:
    lengths = [len(text.split()) for call in calls("embeddings", 50, 1) for text in (call.body or {})["input"]]
    assert min(lengths) < 20
    assert max(lengths) > 300


def test_clips_last_5_to_15_seconds() -> None:
    (call,) = calls("transcriptions", 1, 1)
    assert 5 <= call.units <= 15
    assert len(call.file or b"") == 44 + 2 * round(call.units * 16_000)
