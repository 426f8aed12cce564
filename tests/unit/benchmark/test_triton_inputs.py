"""Requests for Triton's own tools are those that the frontend sends."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.benchmark.product.api_names import triton_models
from scripts.benchmark.product.triton_inputs import requests
from scripts.run.model_configs import parsed
from tests.conftest import ROOT

REPOSITORY = ROOT / "model_repository"
_MODELS = [model for model in triton_models() if (REPOSITORY / model / "config.pbtxt").is_file()]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's models, and each voice of the catalogue with the phonemes of the demo's one."""
    folder = tmp_path_factory.mktemp("repository")
    for model in _MODELS:
        (folder / model).mkdir()
        (folder / model / "config.pbtxt").symlink_to(REPOSITORY / model / "config.pbtxt")
        source = "piper_ryan" if model.startswith("piper_") else model
        (folder / model / "1").symlink_to(REPOSITORY / source / "1")
    return folder


def _needed(model: str, repository: Path) -> dict[str, Any]:
    return {each.name: each for each in parsed(repository / model / "config.pbtxt").input if not each.optional}


@pytest.mark.parametrize("model", _MODELS)
def test_a_request_has_each_input_in_its_shape(model: str, repository: Path) -> None:
    several, needed = requests(model, repository, 3), _needed(model, repository)
    assert len(several) == 3
    # perf_analyzer reads JSON.
    for request in json.loads(json.dumps(several)):
        assert request.keys() == needed.keys()
        for name, value in request.items():
            dims = needed[name].dims
            assert len(value["content"]) == math.prod(value["shape"]) > 0
            assert len(dims) == len(value["shape"])
            assert all(said in (-1, found) for said, found in zip(dims, value["shape"], strict=True))


@pytest.mark.parametrize(("model", "texts"), [("m3_embedder", 4), ("m3_reranker", 32)])
def test_requests_of_texts_are_packed(model: str, texts: int) -> None:
    (request,) = requests(model, REPOSITORY, 1)
    ids, lengths = request["input_ids"], request["lengths"]
    assert (ids["shape"], lengths["shape"]) == ([len(ids["content"])], [texts])
    assert sum(lengths["content"]) == len(ids["content"])


def test_a_model_that_is_not_exported_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.benchmark.product.triton_inputs", "kokoro", "--repository", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.endswith(f"error: kokoro is not exported in {tmp_path}\n")
