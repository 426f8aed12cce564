"""What was measured on two cores, and what it is on more of them."""

import pytest

from scripts.capacity.fits import Fits
from tests.unit.capacity.test_sizing import product


def test_the_measured_fits_have_every_operation() -> None:
    its = Fits.load()
    assert {"m3_embedder", "m3_reranker", "piper_amy", "whisper_turbo"} <= its.models.keys()
    assert its.requests.keys() == {"embeddings", "rerank", "speech", "transcriptions"}


def test_on_as_many_cores_as_were_measured_nothing_changes() -> None:
    assert product().fitted_to(2) == product()


def test_a_triton_has_the_threads_and_instances_that_are_fitted_to_its_cores() -> None:
    its = product().fitted_to(64)
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
    assert product().fitted_to(4).models["whisper_turbo"].line.seconds(0.0) == pytest.approx(expected)


def test_a_voice_takes_as_long_as_before() -> None:
    assert product().fitted_to(16).models["piper_amy"].line == product().models["piper_amy"].line
