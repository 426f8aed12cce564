"""A real Triton reads the configurations for GPUs, and has nothing to say against them but that it sees no GPU."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.local_triton.server import LocalTriton, TritonFailedError
from tests.conftest import ROOT

pytestmark = pytest.mark.triton
MODELS = ("m3_embedder", "m3_reranker", "whisper_large_v3", "whisper_turbo")
# As docs/gpu.md has them.
_MEMORY = """parameters { key: "gpu_mem_limit" value { string_value: "6442450944" } }
parameters { key: "arena_extend_strategy" value { string_value: "1" } }
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models for GPUs without their weights: those are not looked at before there is a GPU."""
    folder = tmp_path_factory.mktemp("repository")
    for model in MODELS:
        (folder / model / "1").mkdir(parents=True)
        shutil.copy(ROOT / "model_repository" / model / "config.pbtxt", folder / model)
        shutil.copytree(ROOT / "model_repository" / model / "configs", folder / model / "configs")
        path = folder / model / "configs" / "gpu.pbtxt"
        placed = path.read_text(encoding="utf-8").replace("kind: KIND_GPU", "kind: KIND_GPU gpus: [ 1, 0 ]")
        path.with_name("gpus.pbtxt").write_text(placed + _MEMORY * model.startswith("m3_"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=["gpu", "gpus"])
def triton(
    request: pytest.FixtureRequest, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalTriton]:
    server = LocalTriton(repository, tmp_path_factory.mktemp("triton"), config_name=request.param)
    server.start()
    yield server
    server.stop(at_once=True)


@pytest.mark.parametrize("model", MODELS)
def test_triton_reads_the_configuration_and_lacks_only_a_gpu(triton: LocalTriton, model: str) -> None:
    with pytest.raises(TritonFailedError, match=r"KIND_GPU but no GPUs are available|unsupported gpu id 1\. GPUs with"):
        triton.load([model])
