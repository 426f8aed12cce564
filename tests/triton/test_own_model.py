"""The worked example of docs/own-triton-model.md: a model of one's own in Triton, without the frontend."""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from scripts.benchmark.common.target import Target
from scripts.benchmark.product.model_control import Knobs
from scripts.benchmark.product.tune import parser, sweep
from scripts.local_triton.server import LocalTriton
from tests.conftest import ROOT

pytestmark = pytest.mark.triton
PAGE = (ROOT / "docs" / "own-triton-model.md").read_text(encoding="utf-8")
PYTHON, CONFIG, INPUTS = (
    re.findall(rf"^```{kind}\n({begin}.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
    for kind, begin in (("python", "import"), ("", "name:"), ("json", "{"))
)
(REQUEST,) = re.findall(r"infer -d '(.*?)'", PAGE, re.DOTALL)
(ANSWER,) = re.findall(r'"data":\[(.*?)\]`', PAGE)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalTriton]:
    folder = tmp_path_factory.mktemp("own")
    model = folder / "model_repository" / "priority"
    (model / "1").mkdir(parents=True)
    subprocess.run([sys.executable, "-c", PYTHON], cwd=folder, check=True)
    (model / "config.pbtxt").write_text(CONFIG, encoding="utf-8")
    (folder / "tickets.json").write_text(INPUTS, encoding="utf-8")
    running = LocalTriton(model.parent, folder / "triton")
    running.start()
    yield running
    running.stop(at_once=True)


@pytest.fixture
def triton(started: LocalTriton) -> LocalTriton:
    if not started.alive():
        started.stop()
        started.start()
    return started


def _inputs(triton: LocalTriton) -> Path:
    return triton.repository.parent / "tickets.json"


def test_it_is_loaded_and_answers_as_the_page_says(triton: LocalTriton) -> None:
    triton.load(["priority"])
    address = f"http://127.0.0.1:{triton.ports.http}/v2/models/priority/infer"
    with urllib.request.urlopen(urllib.request.Request(address, REQUEST.encode())) as answer:
        (output,) = json.loads(answer.read())["outputs"]
    said = [float(number.rstrip(".")) for number in ANSWER.split(",")]
    assert output["data"] == pytest.approx(said, abs=1e-5)


async def test_it_is_tuned_by_requests_of_its_own(triton: LocalTriton) -> None:
    target = Target("", "", f"http://127.0.0.1:{triton.ports.http}", secret=triton.secret)
    sizes = ["--delays", "0", "--batches", "1,8", "--instances", "1", "--threads", "1"]
    given = ["--model", "priority", "--inputs", str(_inputs(triton)), "--callers", "8", "--seconds", "0.5"]
    try:
        swept = await sweep(target, parser().parse_args([*sizes, *given]), lambda line: None)
    except (aiohttp.ClientError, SystemExit):
        # Then the test runs again, as pyproject.toml says.
        assert triton.alive(), "Triton stopped"
        raise
    running, single, several = swept.found
    assert running.knobs == Knobs(500, 32, 1, 1)
    assert (single.knobs, several.knobs) == (Knobs(0, 1, 1, 1), Knobs(0, 8, 1, 1))
    assert running.errors == single.errors == several.errors == 0
    assert (single.mean_batch, single.unit, single.in_flight) == (1, "calls", None)
    assert single.units_a_second > 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"data": [{"tickets": {"content": [1], "shape": [1]}}]}, "has no requests for priority: KeyError: 'tickets'"),
        ({"data": []}, "has no requests"),
        ([], "has no requests for priority: TypeError"),
    ],
)
async def test_requests_of_another_form_are_a_sentence(
    triton: LocalTriton, tmp_path: Path, content: Any, reason: str
) -> None:
    (tmp_path / "tickets.json").write_text(json.dumps(content), encoding="utf-8")
    target = Target("", "", f"http://127.0.0.1:{triton.ports.http}", secret=triton.secret)
    arguments = parser().parse_args(["--model", "priority", "--inputs", str(tmp_path / "tickets.json")])
    with pytest.raises(SystemExit, match=reason):
        await sweep(target, arguments, lambda line: None)
