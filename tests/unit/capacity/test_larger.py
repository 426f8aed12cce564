"""What was measured on two cores, on more of them."""

import pytest

from scripts.capacity.larger import fitted_to
from tests.unit.capacity.test_sizing import product


def test_on_as_many_cores_as_were_measured_nothing_changes() -> None:
    assert fitted_to(product(), 2) == product()


def test_a_triton_has_the_threads_and_instances_that_are_fitted_to_its_cores() -> None:
    its = fitted_to(product(), 64)
    assert its.cores == 64
    assert {name: (model.cores, model.instances) for name, model in its.models.items()} == {
        "m3_embedder": (16.0, 2),
        "m3_reranker": (16.0, 2),
        "piper_amy": (1.0, 8),
        "whisper_turbo": (16.0, 3),
    }


def test_a_window_takes_less_time_by_amdahls_law() -> None:
    # Two cores are 1.72 times as fast as one: 16 % is done by one alone, the rest by three threads of four cores.
    alone = 2 / 1.72 - 1
    expected = 3.0 * (alone + (1 - alone) / 3) / (alone + (1 - alone) / 2)
    assert fitted_to(product(), 4).models["whisper_turbo"].line.seconds(0.0) == pytest.approx(expected)


def test_a_voice_takes_as_long_as_before() -> None:
    assert fitted_to(product(), 16).models["piper_amy"].line == product().models["piper_amy"].line
