from typing import Any

from scripts.benchmark.product.model_control import Knobs, overridden

CONFIG: dict[str, Any] = {
    "name": "m3_embedder",
    "max_batch_size": 32,
    "dynamic_batching": {"preferred_batch_size": [32], "max_queue_delay_microseconds": "2000"},
    "instance_group": [{"name": "a", "count": 1}],
    "parameters": {"intra_threads": {"string_value": "2"}, "other": {"string_value": "x"}},
}


def test_a_configuration_has_the_knobs_turned_and_the_rest_kept() -> None:
    changed = overridden(CONFIG, Knobs(500, 8, 2, 1))
    assert changed == {
        "name": "m3_embedder",
        "max_batch_size": 8,
        "dynamic_batching": {"max_queue_delay_microseconds": "500"},
        "instance_group": [{"name": "a", "count": 2}],
        "parameters": {"intra_threads": {"string_value": "1"}, "other": {"string_value": "x"}},
    }
    assert CONFIG["max_batch_size"] == 32


def test_a_knob_that_a_model_does_not_have_is_a_dash() -> None:
    assert Knobs(None, None, 1, 2).words() == ["-", "-", "1", "2"]
