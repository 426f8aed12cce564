"""Look-alikes of the real checkpoints go through 'export --source folder' and answer on a real Triton."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import tritonclient.grpc as grpc_client
from transformers import AutoModel, AutoTokenizer

from scripts.export_models import __main__ as export
from scripts.export_models.checkpoints import EMBEDDER, WHISPER_LARGE
from scripts.export_models.whisper import convert
from scripts.local_triton.server import LocalTriton
from tests import lookalikes
from tests.conftest import ROOT
from tests.speech import say
from tests.triton.conftest import send, tensor, texts

pytestmark = pytest.mark.triton
# The other Whisper and the other voices are of the same layout.
_EXPORTED = ("m3_embedder", "m3_reranker", "whisper_turbo", "piper_amy")
EXACT = ["--precision", "fp32", "--strict"]
for _model in _EXPORTED:
    EXACT += ["--only", _model]


def _export(folder: Path, repository: Path, *options: str) -> int:
    """The exit code of an export of a folder of checkpoints."""
    return export.main(["--source", "folder", "--folder", str(folder), "--repository", str(repository), *options])


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
    assert _export(folder, target, "--work", str(work), *EXACT) == 0
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


def test_the_embedder_gives_the_originals_vectors(triton: LocalTriton, folder: Path) -> None:
    source = folder / EMBEDDER.repository
    tokenizer, model = AutoTokenizer.from_pretrained(source), AutoModel.from_pretrained(source).eval()
    tokens = [tokenizer(text).input_ids for text in ("hello there", "ä", "a much longer text, with a comma")]
    with grpc_client.InferenceServerClient(f"127.0.0.1:{triton.ports.grpc}") as client:
        rows = client.infer("m3_embedder", texts(*tokens)).as_numpy("embedding")[0]
    for text, row in zip(tokens, rows, strict=True):
        with torch.inference_mode():
            hidden = model(input_ids=torch.tensor([text])).last_hidden_state[0, 0]
        assert np.abs(row[:64] - torch.nn.functional.normalize(hidden, dim=0).numpy()).max() < 1e-5


@pytest.mark.parametrize("name", ["whisper_turbo", "whisper_large_v3"])
def test_a_whisper_of_real_layout_detects_decodes_and_aligns(triton: LocalTriton, name: str) -> None:
    with grpc_client.InferenceServerClient(f"127.0.0.1:{triton.ports.grpc}") as client:
        inputs = [
            tensor("audio", say("Hello there.")[None]),
            tensor("language", np.array([[b""]], np.object_)),
            tensor("prompt", np.array([[b"some context"]], np.object_)),
            tensor("temperature", np.array([[0.5]], np.float32)),
        ]
        answer = client.infer(name, inputs)
    assert len(answer.as_numpy("language")[0, 0]) == 2
    counts = {answer.as_numpy(f"word_{field}").shape for field in ("start", "end", "text", "probability")}
    assert len(counts) == 1


def test_a_second_export_redoes_nothing(repository: Path, folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in repository.rglob("*")}
    assert _export(folder, repository, *EXACT) == 0
    assert before == {path: path.stat().st_mtime_ns for path in repository.rglob("*")}


def test_an_export_of_an_empty_folder_fails(tmp_path: Path) -> None:
    assert _export(tmp_path, tmp_path / "r", "--only", "m3_embedder") == 2
