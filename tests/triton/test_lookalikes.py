"""Look-alikes of the real checkpoints go through 'export --source folder' and answer on a real Triton."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import tritonclient.grpc as grpc_client
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer
from tritonclient.utils import InferenceServerException

from scripts.export_models import __main__ as export
from scripts.export_models.checkpoints import EMBEDDER, WHISPER_LARGE
from scripts.export_models.whisper.export import convert
from scripts.local_triton.server import LocalTriton
from tests import lookalikes
from tests.conftest import ROOT
from tests.speech import say
from tests.triton.conftest import processes, send

pytestmark = pytest.mark.triton
# The other Whisper and the other voices are of the same layout.
_EXPORTED = ("m3_embedder", "m3_reranker", "whisper_turbo", "piper_amy")
EXACT = ["--precision", "fp32", "--strict"]
for _model in _EXPORTED:
    EXACT += ["--only", _model]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    lookalikes.write_all(folder)
    return folder


@pytest.fixture(scope="module")
def repository(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("export")
    target = work / "model_repository"
    weights = shutil.ignore_patterns("*.onnx", "*.data", "whisper", "tokenizer.json", "exported.json", "__pycache__")
    shutil.copytree(ROOT / "model_repository", target, ignore=weights, symlinks=True)
    arguments = ["--source", "folder", "--folder", str(folder), "--repository", str(target), "--work", str(work)]
    assert export.main([*arguments, *EXACT]) == 0
    # The other with its encoder as a graph; random weights would not pass the comparison of int8.
    large = target / "whisper_large_v3" / "1" / "whisper"
    convert(folder / WHISPER_LARGE.repository, large, "int8", graphs=True)
    return target


@pytest.fixture(scope="module")
def triton(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalTriton]:
    server = LocalTriton(repository, tmp_path_factory.mktemp("triton"))
    try:
        server.start()
        server.load([*_EXPORTED, "whisper_large_v3"])
        yield server
    finally:
        # It would wait for the calls that a killed stub had.
        send(server, signal.SIGKILL)
        server.stop()


def _tensor(name: str, array: NDArray[Any], kind: str) -> grpc_client.InferInput:
    tensor = grpc_client.InferInput(name, array.shape, kind)
    tensor.set_data_from_numpy(array)
    return tensor


def test_the_embedder_gives_the_originals_vectors(triton: LocalTriton, folder: Path) -> None:
    source = folder / EMBEDDER.repository
    tokenizer, model = AutoTokenizer.from_pretrained(source), AutoModel.from_pretrained(source).eval()
    texts = [tokenizer(text).input_ids for text in ("hello there", "ä", "a much longer text, with a comma")]
    with grpc_client.InferenceServerClient(f"127.0.0.1:{triton.ports.grpc}") as client:
        inputs = [
            _tensor("input_ids", np.concatenate(texts).astype(np.int32)[None], "INT32"),
            _tensor("lengths", np.array([[len(text) for text in texts]], np.int32), "INT32"),
        ]
        rows = client.infer("m3_embedder", inputs).as_numpy("embedding")[0]
    for text, row in zip(texts, rows, strict=True):
        with torch.inference_mode():
            hidden = model(input_ids=torch.tensor([text])).last_hidden_state[0, 0]
        assert np.abs(row[:64] - torch.nn.functional.normalize(hidden, dim=0).numpy()).max() < 1e-5


@pytest.mark.parametrize("name", ["whisper_turbo", "whisper_large_v3"])
def test_a_whisper_of_real_layout_detects_decodes_and_aligns(triton: LocalTriton, name: str) -> None:
    with grpc_client.InferenceServerClient(f"127.0.0.1:{triton.ports.grpc}") as client:
        inputs = [
            _tensor("audio", say("Hello there.")[None], "FP32"),
            _tensor("language", np.array([[b""]], np.object_), "BYTES"),
            _tensor("prompt", np.array([[b"some context"]], np.object_), "BYTES"),
            _tensor("temperature", np.array([[0.5]], np.float32), "FP32"),
        ]
        answer = client.infer(name, inputs)
    assert len(answer.as_numpy("language")[0, 0]) == 2
    counts = {answer.as_numpy(f"word_{field}").shape for field in ("start", "end", "text", "probability")}
    assert len(counts) == 1


def test_unload_and_load_bring_a_dead_stub_back(triton: LocalTriton) -> None:
    stubs = processes(triton, "m3_reranker")
    assert len(stubs) == 2
    for stub in stubs:
        os.kill(stub, signal.SIGKILL)
    inputs = [
        _tensor("input_ids", np.array([[0, 5, 2, 2, 6, 2]], np.int32), "INT32"),
        _tensor("lengths", np.array([[6]], np.int32), "INT32"),
    ]
    with grpc_client.InferenceServerClient(f"127.0.0.1:{triton.ports.grpc}") as client:
        with pytest.raises(InferenceServerException):
            client.infer("m3_reranker", inputs)
        client.unload_model("m3_reranker")
        triton.load(["m3_reranker"])
        assert client.infer("m3_reranker", inputs).as_numpy("score").shape == (1, 1)


def test_a_second_export_redoes_nothing(repository: Path, folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in repository.rglob("*")}
    arguments = ["--source", "folder", "--folder", str(folder), "--repository", str(repository)]
    assert export.main([*arguments, *EXACT]) == 0
    assert before == {path: path.stat().st_mtime_ns for path in repository.rglob("*")}


def test_an_export_that_fails_its_check_says_so(folder: Path, repository: Path, tmp_path: Path) -> None:
    """Another model's weights under the right name are noticed by the hash of the copy or the numbers."""
    arguments = ["--source", "folder", "--folder", str(tmp_path), "--repository", str(tmp_path / "r")]
    assert export.main([*arguments, "--only", "m3_embedder"]) == 2
