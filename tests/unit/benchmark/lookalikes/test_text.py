from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from scripts.benchmark.lookalikes import text


def test_a_text_has_a_token_a_word_and_two_more(tmp_path: Path) -> None:
    text.write(tmp_path / "m", reranker=False, layers=1)
    tokenizer = Tokenizer.from_file(str(tmp_path / "m" / "tokenizer.json"))
    written = text.words(np.random.default_rng(0), 50)
    ids = tokenizer.encode(written).ids
    assert len(ids) == 52
    assert 3 not in ids


def test_lengths_are_spread_over_the_orders_of_magnitude() -> None:
    its = text.lengths(np.random.default_rng(0), 1000, 500)
    assert (min(its), max(its)) == pytest.approx((8, 500), rel=0.05)
    assert np.median(its) == pytest.approx((8 * 500) ** 0.5, rel=0.2)
