"""The sweep of a model's settings: what is loaded, and what is said of it."""

import dataclasses

import pytest

from frontend.catalogue.models import MODELS, Served
from frontend.catalogue.voices import VOICES
from scripts.benchmark.product.model_control import Knobs
from scripts.benchmark.product.tune import Tried, api_names, combinations, parser, row, table


def _tried(p95: float, rate: float, errors: int = 0) -> Tried:
    return Tried(Knobs(0, 8, 1, 2), p95, rate, "words", 3.5, errors)


def test_a_model_that_cannot_batch_has_no_delay_and_no_batch_size() -> None:
    arguments = parser().parse_args(["--instances", "1,2", "--threads", "1"])
    found = combinations({"max_batch_size": 0, "dynamic_batching": {}}, arguments)
    assert found == [Knobs(None, None, 1, 1), Knobs(None, None, 2, 1)]


@pytest.mark.parametrize("model", Served.of().triton_models)
def test_every_model_has_names_in_the_api(model: str) -> None:
    operation, name, voice = api_names(model)
    own = VOICES[voice].triton_model if voice else MODELS[name].triton_model
    assert (own, MODELS[name].operation) == (model, operation)


def test_a_target_is_met_only_without_errors() -> None:
    assert _tried(0.9, 10).meets(1.0)
    assert not _tried(1.1, 10).meets(1.0)
    assert not _tried(0.9, 10, errors=1).meets(1.0)


def test_combinations_that_meet_the_target_come_first_fastest_first() -> None:
    slow, fast, late = _tried(0.5, 10), _tried(0.9, 20), _tried(2, 99)
    assert table([slow, late, fast], 1.0).splitlines()[2:] == [row(its, 1.0) for its in (fast, slow, late)]


def test_a_row_has_the_settings_and_their_result() -> None:
    assert row(_tried(0.25, 1234), 1.0) == "| 0 | 8 | 1 | 2 | 250 | 1234 words | 3.50 | - | - | - | - | yes |"


def test_a_row_has_batch_figures_if_the_metrics_were_read() -> None:
    tried = dataclasses.replace(_tried(0.25, 1234), in_flight=5.25, bound=12.0, batch_work=1536.0, batch_fill=0.875)
    assert row(tried, 1.0) == "| 0 | 8 | 1 | 2 | 250 | 1234 words | 3.50 | 5.2 | 12 | 1536 | 88% | yes |"
