"""The measurement of operations, and the sweep of a model's settings."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from frontend.catalogue.models import MODELS, Served
from frontend.catalogue.voices import VOICES
from scripts.benchmark.__main__ import Run, write
from scripts.benchmark.common.load import Sample
from scripts.benchmark.product.batches import Batches, read, watched
from scripts.benchmark.product.model_control import Knobs, overridden
from scripts.benchmark.product.triton_counts import between
from scripts.benchmark.product.triton_inputs import requests
from scripts.benchmark.product.tune import Tried, api_names, combinations, parser, row, table
from scripts.local_triton.checks import free_port
from tests.conftest import ROOT


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
    assert table([slow, late, fast], 1.0).splitlines()[2:] == [row(tried, 1.0) for tried in (fast, slow, late)]


def test_a_row_has_the_settings_and_their_result() -> None:
    assert row(_tried(0.25, 1234), 1.0) == "| 0 | 8 | 1 | 2 | 250 | 1234 words | 3.50 | - | - | - | - | yes |"


def test_a_row_has_batch_figures_if_the_metrics_were_read() -> None:
    tried = dataclasses.replace(_tried(0.25, 1234), in_flight=5.25, bound=12.0, batch_work=1536.0, batch_fill=0.875)
    assert row(tried, 1.0) == "| 0 | 8 | 1 | 2 | 250 | 1234 words | 3.50 | 5.2 | 12 | 1536 | 88% | yes |"


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


_TEXT = """# TYPE quartet_in_flight gauge
quartet_in_flight{{pool="a",model="m3_embedder",tier="free"}} {free}
quartet_in_flight{{pool="a",model="m3_embedder",tier="bulk"}} 1.0
quartet_in_flight{{pool="a",model="m3_reranker",tier="free"}} 9.0
# TYPE quartet_in_flight_bound gauge
quartet_in_flight_bound{{pool="a",model="m3_embedder"}} 8.0
quartet_in_flight_bound{{pool="b",model="m3_embedder"}} 4.0
# TYPE quartet_in_flight_per_triton gauge
quartet_in_flight_per_triton{{model="m3_embedder"}} 3.0
# TYPE quartet_batch_work gauge
quartet_batch_work{{model="m3_embedder"}} 1536.0
# TYPE quartet_batch_fill_ratio histogram
quartet_batch_fill_ratio_bucket{{model="m3_embedder",le="+Inf"}} 40.0
quartet_batch_fill_ratio_count{{model="m3_embedder"}} 40.0
quartet_batch_fill_ratio_sum{{model="m3_embedder"}} {fill}
"""


def _seen(*looks: tuple[float, float]) -> Batches:
    return Batches([read(_TEXT.format(free=free, fill=fill), "m3_embedder") for free, fill in looks])


def test_the_series_of_a_model_are_summed() -> None:
    batches = _seen((3, 10))
    assert (batches.in_flight, batches.bound, batches.work) == (4, 12, 1536)


def test_calls_in_flight_are_the_mean_of_all_polls_and_fill_is_between_first_and_last() -> None:
    batches = _seen((3, 10), (5, 14), (4, 18))
    assert (batches.in_flight, batches.fill(executions=10)) == (5, 0.8)


def test_without_polls_there_are_no_figures() -> None:
    batches = Batches()
    assert (batches.in_flight, batches.bound, batches.work, batches.fill(1)) == (None, None, None, None)
    assert _seen((3, 10), (3, 12)).fill(executions=0) is None


async def test_metrics_are_looked_at_before_and_after() -> None:
    async def metrics(request: web.Request) -> web.Response:
        return web.Response(text=_TEXT.format(free=3, fill=10))

    app, port = web.Application(), free_port()
    app.add_routes([web.get("/metrics", metrics)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    async with watched(f"http://127.0.0.1:{port}/metrics", "m3_embedder") as seen:
        pass
    async with watched(f"http://127.0.0.1:{port}/other", "m3_embedder") as lacking:
        pass
    await runner.cleanup()
    async with watched(f"http://127.0.0.1:{port}/metrics", "m3_embedder") as away:
        pass
    assert [len(each.seen) for each in (seen, lacking, away)] == [2, 0, 0]


def test_triton_is_counted_between_two_moments() -> None:
    before = {"m": {"requests": 2.0, "executions": 2.0, "queue_ns": 0.0, "compute_ns": 0.0}}
    after = {"m": {"requests": 10.0, "executions": 4.0, "queue_ns": 16e6, "compute_ns": 80e6}, "n": before["m"]}
    found = between(before, {**after, "n": {**before["m"], "requests": 0.0}})
    assert found == {"m": {"requests": 8.0, "executions": 2.0, "mean_batch": 4.0, "queue_ms": 2.0, "compute_ms": 10.0}}


@pytest.mark.parametrize(("model", "texts"), [("m3_embedder", 4), ("m3_reranker", 32)])
def test_requests_for_tritons_tools_hold_packed_texts(model: str, texts: int) -> None:
    (request,) = requests(model, ROOT / "model_repository", 1)
    ids, lengths = request["input_ids"], request["lengths"]
    assert (ids["shape"], lengths["shape"]) == ([len(ids["content"])], [texts])
    assert sum(lengths["content"]) == len(ids["content"])


def _run(*samples: Sample) -> Run:
    counted = {"m3_embedder": {"requests": 8.0, "mean_batch": 4.0, "queue_ms": 2.0}}
    return Run("embeddings", "burst of 1", samples, counted)


def test_a_line_has_throughput_latency_errors_and_what_triton_counted() -> None:
    line = _run(Sample(0.0, 2.0, 200, 10), Sample(0.0, 1.0, 502, 10)).line()
    assert line == "| embeddings | burst of 1 | 0.5 | 5 tokens | 2000.0 | 2000.0 | 2000.0 | 1 | 4.00 | 2.00 |"


def test_results_are_written_as_json_and_table(tmp_path: Path) -> None:
    run = _run(Sample(0.0, 0.1, 200, 1))
    table = write(tmp_path, [run])
    whole = json.loads((tmp_path / "results.json").read_text())
    assert (whole["results"][0]["calls"], whole["results"][0]["operation"]) == (1, "embeddings")
    assert whole["machine"]["cores"] >= 1
    assert run.line() in table
    assert (tmp_path / "results.md").read_text() == f"{table}\n"
