"""What is made of a command's lines and of what its processes took."""

import json
from pathlib import Path

from scripts.rehearsal.report import Exported, Report, Step, Took, exported, took
from scripts.rehearsal.watch import Line, Sample

LINES = [
    Line(1.0, "exporting 2 models (hub), about 3 min"),
    Line(2.0, "     1.5 m3_embedder: downloading pytorch_model.bin (2.3 GB) 0%"),
    Line(5.0, "     1.5 m3_embedder: downloading pytorch_model.bin (2.3 GB) 75%"),
    Line(7.0, "     1.5 m3_embedder: loading"),
    Line(19.0, "     1.5 m3_embedder: done, 1 of 2 models"),
    Line(20.0, "     1.5 m3_reranker: loading"),
]
SAMPLES = [Sample(0.0, 1, 2, 0.0), Sample(2.0, 30, 40, 1.0), Sample(18.0, 20, 60, 15.0), Sample(25.0, 90, 90, 30.0)]


def test_a_finished_model_has_its_seconds_its_peaks_and_its_longest_silence() -> None:
    (model,) = exported(LINES, SAMPLES)
    assert model == Exported("m3_embedder", 5.0, Took(17.0, 14.0, 30, 60, 12.0))


def test_a_step_counts_what_lies_within_it_alone() -> None:
    assert took(LINES, SAMPLES, 0.0, 3.0) == Took(3.0, 1.0, 30, 40, 1.0)


def test_a_report_is_written_for_people_and_for_programs(tmp_path: Path) -> None:
    report = Report("2 processors", "small", [Step("start", Took(61.4, 99.0, 8_100_000_000, 9_000_000_000, 4.0))])
    report.models["int8"] = list(exported(LINES, SAMPLES))
    report.write(tmp_path)
    assert "| start | 61 | 99 | 8.1 | 9.0 | 4 | 0.0 |  |" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["models"]["int8"][0]["fetching"] == 5.0
