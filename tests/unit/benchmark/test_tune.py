"""The sweep of a model's settings: what is loaded, and what is said of it."""

from typing import Any

import pytest

from scripts.benchmark.clips import p95
from scripts.benchmark.load import Sample
from scripts.benchmark.model_control import Knobs, overridden
from scripts.benchmark.triton_inputs import requests
from scripts.benchmark.tune import Tried, combinations, parser, row, table
from tests.conftest import ROOT

CONFIG: dict[str, Any] = {
    "name": "m3_embedder",
    "max_batch_size": 32,
    "dynamic_batching": {"preferred_batch_size": [32], "max_queue_delay_microseconds": "2000"},
    "instance_group": [{"name": "a", "count": 1}],
    "parameters": {"intra_op_thread_count": {"string_value": "2"}, "other": {"string_value": "x"}},
}


def _tried(p95: float, rate: float, errors: int = 0) -> Tried:
    return Tried(Knobs(0, 8, 1, 2), p95, rate, "words", 3.5, errors)


def test_a_configuration_has_the_knobs_turned_and_the_rest_kept() -> None:
    changed = overridden(CONFIG, Knobs(500, 8, 2, 1), "intra_op_thread_count")
    assert changed == {
        "name": "m3_embedder",
        "max_batch_size": 8,
        "dynamic_batching": {"max_queue_delay_microseconds": "500"},
        "instance_group": [{"name": "a", "count": 2}],
        "parameters": {"intra_op_thread_count": {"string_value": "1"}, "other": {"string_value": "x"}},
    }
    assert CONFIG["max_batch_size"] == 32


def test_every_combination_is_tried() -> None:
    arguments = parser().parse_args(["--delays", "0,10", "--batches", "1,8", "--instances", "1", "--threads", "2"])
    assert combinations(CONFIG, arguments) == [
        Knobs(0, 1, 1, 2),
        Knobs(0, 8, 1, 2),
        Knobs(10, 1, 1, 2),
        Knobs(10, 8, 1, 2),
    ]


def test_a_model_that_cannot_batch_has_no_delay_and_no_batch_size() -> None:
    arguments = parser().parse_args(["--instances", "1,2", "--threads", "1"])
    found = combinations({**CONFIG, "max_batch_size": 0}, arguments)
    assert found == [Knobs(None, None, 1, 1), Knobs(None, None, 2, 1)]


def test_a_target_is_held_only_without_errors() -> None:
    assert _tried(0.9, 10).holds(1.0)
    assert not _tried(1.1, 10).holds(1.0)
    assert not _tried(0.9, 10, errors=1).holds(1.0)


def test_those_that_hold_the_target_come_first_and_the_fastest_before() -> None:
    slow, fast, late = _tried(0.5, 10), _tried(0.9, 20), _tried(2, 99)
    assert table([slow, late, fast], 1.0).splitlines()[2:] == [row(its, 1.0) for its in (fast, slow, late)]


def test_a_row_tells_the_knobs_and_what_they_gave() -> None:
    assert row(_tried(0.25, 1234), 1.0) == "| 0 | 8 | 1 | 2 | 250 | 1234 words | 3.50 | yes |"


@pytest.mark.parametrize(("model", "texts"), [("m3_embedder", 4), ("m3_reranker", 32)])
def test_requests_for_tritons_tools_hold_packed_texts(model: str, texts: int) -> None:
    (request,) = requests(model, ROOT / "model_repository", 1)
    ids, lengths = request["input_ids"], request["lengths"]
    assert (ids["shape"], lengths["shape"]) == ([len(ids["content"])], [texts])
    assert sum(lengths["content"]) == len(ids["content"])


def test_the_slowest_of_few_calls_counts() -> None:
    samples = [Sample(0.0, seconds, 200, 1.0) for seconds in (1.0, 1.0, 1.0, 9.0)]
    assert p95(samples) > 7


def test_a_failed_call_ends_the_measurement() -> None:
    with pytest.raises(SystemExit, match="502"):
        p95([Sample(0.0, 1.0, 200, 1.0), Sample(0.0, 1.0, 502, 1.0)])
