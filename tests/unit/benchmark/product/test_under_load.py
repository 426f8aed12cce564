"""What is written of every operation under load."""

import json
from pathlib import Path

from scripts.benchmark.common.load import Sample
from scripts.benchmark.product.under_load import Run, write


def _run(*samples: Sample) -> Run:
    counted = {"m3_embedder": {"requests": 8.0, "mean_batch": 4.0, "queue_ms": 2.0}}
    return Run("embeddings", "burst of 1", samples, counted)


def test_a_line_has_throughput_latency_errors_and_what_triton_counted() -> None:
    line = _run(Sample(0.0, 2.0, 200, 10), Sample(0.0, 1.0, 502, 10)).line()
    assert line == "| embeddings | burst of 1 | 0.5 | 5 tokens | 2000.0 | 2000.0 | 2000.0 | 1 | 4.00 | 2.00 |"


def test_results_are_written_as_json_table_and_plot(tmp_path: Path) -> None:
    run = _run(Sample(0.0, 0.1, 200, 1))
    table = write(tmp_path, [run])
    whole = json.loads((tmp_path / "results.json").read_text())
    assert (whole["results"][0]["calls"], whole["results"][0]["operation"]) == (1, "embeddings")
    assert whole["machine"]["cores"] >= 1
    assert run.line() in table
    assert (tmp_path / "results.md").read_text() == f"{table}\n"
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")
