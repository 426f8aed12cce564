"""Runs over a cluster, as far as they can be without Ray: what is sent to its actors, what these do and say."""

import json
import sys
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

from client.api import CommandError
from client.bulk import cluster
from client.bulk.cluster import RayActor
from client.bulk.job import Job
from client.tests.bulk.api import Api, Refusal
from client.tests.bulk.conftest import job, lines, write_texts
from client.tests.bulk.ray import FakeRay, RayError

_RECORDINGS = 50


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay(nodes=2)
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setitem(sys.modules, "ray.data", fake.data)
    return fake


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for number in range(_RECORDINGS):
        (tmp_path / "in" / f"{number:02d}.wav").write_text(f"said {number}")
    return tmp_path / "in"


def _run(wanted: Job) -> bool:
    return cluster.run(wanted, "head:6379")


def _rows(output: Path) -> list[dict[str, Any]]:
    return list(pq.read_table(output).sort_by("item").to_pylist())


def test_every_recording_is_done_once(api: Api, ray: FakeRay, recordings: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    assert _run(job(api, recordings, output, "transcribe"))
    assert [(row["item"], row["text"]) for row in _rows(output)] == [(n, f"said {n}") for n in range(_RECORDINGS)]
    assert 1 < api.most <= 4
    assert _run(job(api, recordings, output, "transcribe"))
    assert len(api.asked) == _RECORDINGS
    assert ray.left == 2


def test_a_slow_recording_does_not_delay_other_ranges(api: Api, ray: FakeRay, recordings: Path, tmp_path: Path) -> None:
    """The first one, until all others have been sent."""
    api.hold = lambda asked: asked.name.split("-")[2] == "0" and len(api.asked) < _RECORDINGS
    ray.count = 1
    assert _run(job(api, recordings, tmp_path / "out.parquet", "transcribe"))


@pytest.mark.usefixtures("ray")
def test_failed_items_are_recorded_and_the_next_run_skips_them(api: Api, tmp_path: Path) -> None:
    source = write_texts(tmp_path / "in.jsonl", [*["good"] * 17, "bad"])
    api.refuse = lambda asked: Refusal(400, "no", param="input") if asked.body["input"] == "bad" else None
    wanted = job(api, source, tmp_path / "audio", "speak")
    assert not _run(wanted)
    assert lines(wanted.failures) == [{"item": 17, "id": "id17", "error": "no"}]
    assert not _run(wanted)
    assert len(api.asked) == 18
    assert len(list((tmp_path / "audio").iterdir())) == 17


def test_ray_sends_no_usage_statistics(
    api: Api, ray: FakeRay, recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    _run(job(api, recordings, tmp_path / "out.parquet", "transcribe"))
    assert ray.environ["RAY_USAGE_STATS_ENABLED"] == "0"


@pytest.mark.parametrize("failure", [ConnectionError("nobody is there"), RayError("nobody is there\nand more")])
def test_a_cluster_that_cannot_be_joined_is_a_sentence(
    api: Api, ray: FakeRay, recordings: Path, tmp_path: Path, failure: Exception
) -> None:
    ray.failure = failure
    with pytest.raises(CommandError, match="^--ray head:6379: nobody is there$"):
        _run(job(api, recordings, tmp_path / "out.parquet", "transcribe"))
    assert ray.left == 1


def test_an_error_of_an_actor_ends_the_run(api: Api, ray: FakeRay, recordings: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="the key is not known"):
        _run(job(api, recordings, tmp_path / "out.parquet", "transcribe", key="qk_other"))
    assert ray.left == 1


@pytest.mark.usefixtures("ray")
def test_a_cluster_does_not_write_lines(api: Api, recordings: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="a cluster writes parts"):
        _run(job(api, recordings, tmp_path / "out.jsonl", "transcribe"))


def test_an_interrupt_is_reported(
    api: Api, ray: FakeRay, recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ray.failure = KeyboardInterrupt()  # type: ignore[assignment]
    assert not _run(job(api, recordings, tmp_path / "out.parquet", "transcribe"))
    assert "interrupted: the same command goes on" in capsys.readouterr().out


def _range(first: int) -> dict[str, list[bytes]]:
    return {"range": [orjson.dumps({"first": first, "failed": []})]}


def test_a_range_of_two_actors_is_written_once(api: Api, recordings: Path, tmp_path: Path) -> None:
    wanted = job(api, recordings, tmp_path / "out.parquet", "transcribe")

    actors = [RayActor(wanted, "token") for _ in range(2)]
    first, second = (json.loads(actor(_range(16))["result"][0])["tally"] for actor in actors)
    assert (first["done"], first["before"], second["done"], second["before"]) == (16, 0, 0, 16)
    assert [row["item"] for row in _rows(wanted.output)] == list(range(16, 32))


def test_a_node_without_the_input_says_so(api: Api, tmp_path: Path) -> None:
    actor = RayActor(job(api, tmp_path / "gone", tmp_path / "out.parquet"), "token")
    said = json.loads(actor(_range(0))["result"][0])
    assert said == {"ended": f"{tmp_path / 'gone'}: there is no such file or folder"}
