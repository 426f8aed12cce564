"""The sweep of a model's settings: what is measured, what is shown, and what is done with it."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from frontend.catalogue.added_models import describe
from frontend.catalogue.models import MODELS, Model, Served
from frontend.catalogue.voices import VOICES
from scripts.benchmark.product import sweep
from scripts.benchmark.product.api_names import api_names, operation_of, triton_model, triton_models
from scripts.benchmark.product.model_control import Knobs, overridden
from scripts.benchmark.product.sweep import Sweep, Tried, row, table
from scripts.benchmark.product.tune import parser
from scripts.run.model_configs import parsed
from tests.conftest import ROOT

CONFIG: dict[str, Any] = {
    "name": "m3_embedder",
    "max_batch_size": 32,
    "dynamic_batching": {"preferred_batch_size": [32], "max_queue_delay_microseconds": "2000"},
    "instance_group": [{"name": "a", "count": 1}],
    "parameters": {"intra_threads": {"string_value": "2"}, "other": {"string_value": "x"}},
}


RUNNING = Knobs(2000, 32, 1, 2)


def _tried(p95: float, rate: float, errors: int = 0) -> Tried:
    return Tried(Knobs(0, 8, 1, 2), p95, rate, "words", 3.5, errors)


def _rows(config: dict[str, Any], *arguments: str) -> list[Knobs]:
    return sweep.combinations(config, parser().parse_args(arguments))


def _config(batch: int, delay: int, instances: int, threads: int) -> dict[str, Any]:
    """As Triton tells it, which leaves out a delay of 0."""
    batching = {"dynamic_batching": {"max_queue_delay_microseconds": str(delay)} if delay else {}} if batch else {}
    return {
        "max_batch_size": batch,
        "instance_group": [{"count": instances}],
        "parameters": {"intra_threads": {"string_value": str(threads)}},
        **batching,
    }


@pytest.mark.parametrize(
    ("config", "running"),
    [
        ((8, 5000, 1, 2), Knobs(5000, 8, 1, 2)),
        ((16, 20_000, 2, 8), Knobs(20_000, 16, 2, 8)),
        ((32, 0, 2, 12), Knobs(0, 32, 2, 12)),
        ((1, 7, 5, 3), Knobs(7, 1, 5, 3)),
        ((0, 0, 8, 1), Knobs(None, None, 8, 1)),
    ],
    ids=["Whisper", "Whisper on a GPU", "no delay", "odd numbers", "a voice"],
)
def test_what_runs_is_the_first_row_and_each_setting_has_another_value(
    config: tuple[int, int, int, int], running: Knobs
) -> None:
    rows = _rows(_config(*config))
    assert rows[0] == running
    assert len(rows) == len(set(rows)) <= 24
    for name, value in vars(running).items():
        values = {getattr(each, name) for each in rows}
        assert values == {None} if value is None else len(values) > 1


def test_given_values_are_measured_after_what_runs() -> None:
    rows = _rows(CONFIG, "--delays", "0", "--batches", "4,8", "--instances", "3", "--threads", "1")
    assert rows == [RUNNING, Knobs(0, 4, 3, 1), Knobs(0, 8, 3, 1)]


def test_a_model_that_cannot_batch_has_no_delay_and_no_batch_size() -> None:
    rows = _rows(_config(0, 0, 1, 1), "--instances", "1,2", "--threads", "1", "--delays", "0,5", "--batches", "4")
    assert rows == [Knobs(None, None, 1, 1), Knobs(None, None, 2, 1)]


def test_the_length_is_said_before() -> None:
    assert sweep.length(24, 8.0) == "24 rows, each 8 s and the time to load the model: at least 4 min"


@pytest.mark.parametrize("model", Served.of().triton_models)
def test_every_model_has_names_in_the_api(model: str) -> None:
    operation, name, voice = api_names(model)
    own = VOICES[voice].triton_model if voice else MODELS[name].triton_model
    assert (own, MODELS[name].operation) == (model, operation)


def test_a_voice_of_an_operator_has_names_too(tmp_path: Path) -> None:
    folder = tmp_path / "piper_eva" / "1"
    folder.mkdir(parents=True)
    (folder / "voice.json").write_text('{"added": {"language": "de", "gender": "female"}}')
    (folder / "exported.json").write_text("{}")
    assert api_names("piper_eva", tmp_path) == ("speech", "tts-1", "eva")
    assert {"piper_eva", "piper_ryan", "kokoro", "whisper_large_v3"} < set(triton_models(tmp_path))


@pytest.mark.parametrize("name", ["embed-e5", "added_embed-e5"])
def test_an_added_model_is_tuned_by_either_of_its_names(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "added_embed-e5" / "1"
    folder.mkdir(parents=True)
    describe(folder, Model("embed-e5", "embeddings", triton_model="added_embed-e5", max_tokens=512, width=384))
    assert triton_model(name, tmp_path) == "added_embed-e5"
    assert "added_embed-e5" in triton_models(tmp_path)
    assert api_names("added_embed-e5", tmp_path) == ("embeddings", "embed-e5", "")
    assert operation_of("embed-e5", tmp_path) == "embeddings"


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


def test_what_runs_is_measured_as_it_is_with_groups_that_differ() -> None:
    config = {**CONFIG, "instance_group": [{"count": 2, "gpus": [0]}, {"count": 1, "gpus": [1]}]}
    assert overridden(config, dataclasses.replace(RUNNING, instances=2))["instance_group"] == config["instance_group"]
    changed = overridden(config, dataclasses.replace(RUNNING, instances=3))["instance_group"]
    assert [group["count"] for group in changed] == [3, 3]


def test_a_knob_that_a_model_does_not_have_is_a_dash() -> None:
    assert Knobs(None, None, 1, 2).words() == ["-", "-", "1", "2"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "m3_embedder").mkdir()
    text = (ROOT / "model_repository" / "m3_embedder" / "config.pbtxt").read_text(encoding="utf-8")
    (tmp_path / "m3_embedder" / "config.pbtxt").write_text(text, encoding="utf-8")
    return tmp_path


def _swept(found: list[Tried], again: list[Tried]) -> Sweep:
    return Sweep({"instance_group": [{"count": 2, "kind": "KIND_CPU"}], **CONFIG}, found, again)


def _arguments(*more: str) -> argparse.Namespace:
    return parser().parse_args(["--p95", "1", *more])


_SLOW, _BEST = Tried(RUNNING, 0.9, 100, "tokens", 3.5, 0), Tried(Knobs(500, 8, 1, 2), 0.8, 130, "tokens", 3.5, 0)


def test_the_lines_to_paste_name_their_file(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = repository / "m3_embedder" / "config.pbtxt"
    before = file.read_text()
    assert sweep.give(_swept([_SLOW, _BEST], [_SLOW, _BEST]), _arguments(), repository) == 0
    said = capsys.readouterr().out
    assert "p95 800 ms instead of 900, 130 tokens a second instead of 100" in said
    assert f"For {file}, or with --apply:" in said
    assert "max_batch_size: 8" in said
    assert "max_queue_delay_microseconds: 500" in said
    # The threads that run are those of the best row.
    assert "intra_threads" not in said
    assert file.read_text() == before


def test_applied_settings_stand_in_the_file(repository: Path) -> None:
    assert sweep.give(_swept([_SLOW, _BEST], [_SLOW, _BEST]), _arguments("--apply"), repository) == 0
    config = parsed(repository / "m3_embedder" / "config.pbtxt")
    assert (config.max_batch_size, config.dynamic_batching.max_queue_delay_microseconds) == (8, 500)
    assert config.parameters["intra_threads"].string_value == "auto"


def test_a_file_that_cannot_be_written_gets_its_lines_on_screen(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert sweep.give(_swept([_SLOW, _BEST], [_SLOW, _BEST]), _arguments("--apply"), repository) == 1
    said = capsys.readouterr().out
    assert "cannot be written to" in said
    assert "max_batch_size: 8" in said


def test_a_file_that_is_not_here_gets_the_best_row_on_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep.give(_swept([_SLOW, _BEST], [_SLOW, _BEST]), _arguments(), tmp_path) == 0
    assert "The best row is delay 500, batch 8" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [(), ("--apply",)], ids=["shown", "applied"])
@pytest.mark.parametrize(
    ("found", "again", "said"),
    [
        ([_SLOW], [], "What runs is the best row"),
        ([_SLOW, _BEST], [_SLOW, dataclasses.replace(_BEST, units_a_second=103)], "no row is better"),
        ([_SLOW, _BEST], [_SLOW, dataclasses.replace(_BEST, p95=1.2)], "no row is better"),
        ([_SLOW, _BEST], [_SLOW], "no row is better"),
    ],
    ids=["it runs", "within noise", "holds no longer", "does not load again"],
)
def test_nothing_is_written_where_nothing_is_surely_better(
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    found: list[Tried],
    again: list[Tried],
    said: str,
) -> None:
    file = repository / "m3_embedder" / "config.pbtxt"
    before = file.read_text()
    assert sweep.give(_swept(found, again), _arguments(*arguments), repository) == 0
    assert said in capsys.readouterr().out
    assert file.read_text() == before


def test_a_row_that_holds_is_better_than_a_faster_one_that_does_not(repository: Path) -> None:
    late = dataclasses.replace(_SLOW, p95=2.0, units_a_second=500)
    assert sweep.give(_swept([late, _BEST], [late, _BEST]), _arguments("--apply"), repository) == 0
    assert parsed(repository / "m3_embedder" / "config.pbtxt").max_batch_size == 8


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([_tried(4.0, 10), _tried(2.0, 9)], "the nearest has 2.00 s (delay 0, batch 8, instances 1, threads 2)"),
        ([_tried(4.0, 10), _tried(2.0, 9)], "(--callers 8), allow more (--p95 2.2)"),
        ([_tried(0.1, 10, errors=3)], "the key's limits"),
        ([], "could be loaded"),
    ],
)
def test_if_no_row_holds_it_says_what_to_do(
    repository: Path, capsys: pytest.CaptureFixture[str], found: list[Tried], said: str
) -> None:
    assert sweep.give(_swept(found, []), _arguments(), repository) == 0
    assert said in capsys.readouterr().out
    assert sweep.give(_swept(found, []), _arguments("--apply"), repository) == 1
