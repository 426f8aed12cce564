"""The measurement of operations."""

import json
from pathlib import Path

import pytest
from aiohttp import web

from scripts.benchmark.__main__ import Run, parsed, write
from scripts.benchmark.common.load import Sample
from scripts.benchmark.product.batches import Batches, read, watched
from scripts.benchmark.product.triton_counts import between
from scripts.local_triton.checks import free_port

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


@pytest.mark.parametrize(
    ("given", "operations"),
    [
        ([], ["embeddings", "rerank", "speech", "transcriptions"]),
        (["--model", "stt-1-hd"], ["transcriptions"]),
        (["--model", "embeddings=bge-m3", "--url", "http://x/v1"], ["embeddings"]),
        (["--model", "embed-m3", "--operations", "rerank"], ["rerank"]),
    ],
    ids=["none", "by its name", "of any server", "with operations"],
)
def test_the_operations_of_the_named_models_are_measured(given: list[str], operations: list[str]) -> None:
    assert parsed(given).operations == operations


def test_a_model_that_nobody_added_is_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(["--model", "embed-e9"])
    assert "'embed-e9': no model has this name here" in capsys.readouterr().err
