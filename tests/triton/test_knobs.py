"""A real Triton runs with the numbers that an operator writes, and with this machine's where a file has none."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.local_triton.server import DIRECT, LocalTriton
from scripts.run.fit import CONFIG_NAME, Fit
from tests.conftest import ROOT
from tests.triton.edits import EDITS, edited

pytestmark = pytest.mark.triton
FIT = Fit.of(2, 24 * 10**9)
# The second voice is a copy of the first one.
MODELS = EDITS | {"piper_other": {"piper_ryan": "piper_other"}}
# In the place of every model, because it is loaded at once: compose and chart have ours.
_EMPTY = """
class TritonPythonModel:
    def execute(self, requests):
        return [None] * len(requests)
"""


def _edited(folder: Path) -> Path:
    """A repository of empty models with our files, edited."""
    for model, edits in MODELS.items():
        source, target = ROOT / "model_repository" / model.replace("other", "ryan"), folder / model
        (target / "1").mkdir(parents=True)
        (target / "1" / "model.py").write_text(_EMPTY, encoding="utf-8")
        text = (source / "config.pbtxt").read_text(encoding="utf-8").replace('"onnxruntime"', '"python"')
        (target / "config.pbtxt").write_text(edited(text, edits), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What Triton runs, by model, as it is started by make run. Compose and chart have ``test_forms``."""
    repository = _edited(tmp_path_factory.mktemp("edited"))
    FIT.write(repository)
    triton = LocalTriton(repository, tmp_path_factory.mktemp("triton"), config_name=CONFIG_NAME)
    triton.start()
    try:
        triton.load(list(MODELS))
        yield {model: _config(triton, model) for model in MODELS}
    finally:
        triton.stop(at_once=True)


def _config(triton: LocalTriton, model: str) -> Any:
    with DIRECT.open(f"http://127.0.0.1:{triton.ports.http}/v2/models/{model}/config", timeout=10) as answer:
        return json.load(answer)


def _threads(config: Any) -> str:
    return str(config["parameters"]["intra_threads"]["string_value"])


def test_edited_threads_instances_batch_and_delay_run(runs: dict[str, Any]) -> None:
    config = runs["m3_embedder"]
    delay = config["dynamic_batching"].get("max_queue_delay_microseconds", 0)
    found = (_threads(config), config["instance_group"][0]["count"], config["max_batch_size"], int(delay))
    assert found == ("1", 1, 5, 0)


def test_edited_instances_of_a_voice_run(runs: dict[str, Any]) -> None:
    assert runs["piper_ryan"]["instance_group"][0]["count"] == 3


def test_a_voice_that_leaves_them_open_has_those_of_this_machine(runs: dict[str, Any]) -> None:
    assert runs["piper_other"]["instance_group"][0]["count"] == FIT.voices == 2


def test_an_edited_parameter_stays_beside_those_that_are_fitted(runs: dict[str, Any]) -> None:
    config = runs["whisper_turbo"]
    assert config["parameters"]["beam_size"]["string_value"] == "1"
    assert (_threads(config), config["instance_group"][0]["count"]) == (str(FIT.threads), FIT.whispers)
