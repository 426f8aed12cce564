"""Parsers read anything: any bytes, and what is almost right."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import profile
from tests.fuzz.bodies import changed
from tests.fuzz.corpus import corpus
from tests.fuzz.parsers import TARGETS

CORPUS = corpus()


def test_each_target_has_examples() -> None:
    assert CORPUS.keys() == TARGETS.keys()


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_right_or_was_once_read_wrongly_is_read(name: str) -> None:
    for data in CORPUS[name]:
        TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
def test_anything_is_read_or_refused(name: str) -> None:
    examples = CORPUS[name]

    @profile(60)
    @given(st.randoms(use_true_random=False), st.binary(max_size=200), st.sampled_from([0, 1, 2, 2, 2, 2]))
    def look(rng: random.Random, data: bytes, kind: int) -> None:
        example = rng.choice(examples)
        TARGETS[name]([data, example[: rng.randrange(len(example))] + data, changed(rng, example)][kind])

    look()
