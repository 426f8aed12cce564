"""A real Triton, started by the images' script: a model that is broken or loaded again takes no other away."""

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tritonclient.grpc import InferenceServerClient, InferInput
from tritonclient.utils import InferenceServerException

from frontend.errors import AccountRefused
from frontend.tritons.triton import Triton
from scripts.local_triton.settings import HEADER
from tests.conftest import ROOT
from tests.triton.images import Started, started, write_small_graph

pytestmark = pytest.mark.triton
_SECRET = "a/secret+with&signs=="
# Models that are not ours, in their own form; one takes as long as large models of ours to load.
_FOREIGN = """
import time

import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        time.sleep(SECONDS)

    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(request, "IN").as_numpy() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", 2 * each)]) for each in inputs]
"""
_FOREIGN_CONFIG = """
backend: "python"
max_batch_size: 8
input [ { name: "IN", data_type: TYPE_INT32, dims: [ 1 ] } ]
output [ { name: "OUT", data_type: TYPE_INT32, dims: [ 1 ] } ]
instance_group [
  {
    count: 3
    kind: KIND_CPU
  }
]
"""


def _repository(folder: Path) -> Path:
    """A voice, a voice whose graph is cut off, and two models of the operator's."""
    original = ROOT / "model_repository" / "piper_ryan"
    for model in ("piper_ryan", "piper_broken"):
        target = folder / model
        shutil.copytree(original, target, ignore=shutil.ignore_patterns("configs", "*.onnx*", "*.wav"))
        config = (original / "config.pbtxt").read_text(encoding="utf-8")
        (target / "config.pbtxt").write_text(config.replace(original.name, model), encoding="utf-8")
        write_small_graph(target / "1" / "model.onnx")
    for model, seconds in (("their_own", 0), ("their_slow", 2)):
        (foreign := folder / model / "1").mkdir(parents=True)
        (foreign / "model.py").write_text(_FOREIGN.replace("SECONDS", str(seconds)), encoding="utf-8")
        (foreign.parent / "config.pbtxt").write_text(_FOREIGN_CONFIG, encoding="utf-8")
    graph = folder / "piper_broken" / "1" / "model.onnx"
    graph.write_bytes(graph.read_bytes()[:20])
    return folder


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _repository(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def triton(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    environ = {"MODEL_REPOSITORY": str(repository), "QUARTET_TRITON_SECRET": _SECRET}
    arguments = ["--model-config-name=machine", "--load-model=*"]
    with started(tmp_path_factory.mktemp("image"), environ, arguments) as made:
        yield made


def test_a_model_that_does_not_load_leaves_the_others_ready(triton: Started) -> None:
    models = ("piper_ryan", "their_own", "their_slow", "piper_broken")
    assert [triton.status(f"/v2/models/{model}/ready") == 200 for model in models] == [True, True, True, False]


def test_the_pod_is_ready_with_a_model_that_does_not_load(triton: Started) -> None:
    assert triton.status("/v2/health/ready") == 200


# What no program of ours calls, whatever the caller knows.
CLOSED = ("systemsharedmemory/status", "cudasharedmemory/status", "trace/setting", "logging")


@pytest.mark.parametrize("secret", ["", "wrong", _SECRET], ids=["without a secret", "with a wrong one", "with ours"])
@pytest.mark.parametrize("path", CLOSED)
def test_what_no_program_of_ours_calls_is_closed(triton: Started, path: str, secret: str) -> None:
    assert triton.status(f"/v2/{path}", secret=secret) == 403


@pytest.mark.parametrize("secret", ["", "wrong"], ids=["without a secret", "with a wrong one"])
@pytest.mark.parametrize("path", ["index", "models/piper_ryan/load", "models/piper_ryan/unload"])
def test_model_control_is_closed_to_who_has_not_the_secret(triton: Started, path: str, secret: str) -> None:
    assert triton.status(f"/v2/repository/{path}", post=True, secret=secret) == 403
    assert triton.status("/v2/models/piper_ryan/ready") == 200


def test_model_control_is_open_to_who_has_the_secret(triton: Started) -> None:
    assert triton.status("/v2/repository/index", post=True, secret=_SECRET) == 200


def test_it_is_closed_to_grpc_too(triton: Started) -> None:
    ours = {f"triton-grpc-protocol-{HEADER}": _SECRET}
    with InferenceServerClient(f"127.0.0.1:{triton.grpc_port}") as client:
        assert client.is_server_live()
        for call in (
            client.get_system_shared_memory_status,
            client.get_trace_settings,
            client.get_log_settings,
            client.get_model_repository_index,
            partial(client.load_model, "piper_ryan"),
            partial(client.unload_model, "piper_ryan"),
            partial(client.get_system_shared_memory_status, headers=ours),
        ):
            with pytest.raises(InferenceServerException, match="restricted"):
                call()
        assert len(client.get_model_repository_index(ours).models) == 4


async def test_the_frontends_client_controls_it_with_the_secret_and_says_who_has_a_wrong_one(triton: Started) -> None:
    address = f"127.0.0.1:{triton.grpc_port}"
    ours, theirs = Triton(address, secret=_SECRET), Triton(address, secret="wrong")
    try:
        assert await ours.ready_models(["piper_ryan", "piper_broken"]) == {"piper_ryan"}
        assert await ours.broken_models(["piper_ryan", "piper_broken"]) == {"piper_broken"}
        await ours.reload("piper_ryan")
        for call in (theirs.ready_models(["piper_ryan"]), theirs.broken_models(["piper_ryan"]), theirs.reload("m3")):
            with pytest.raises(AccountRefused):
                await call
    finally:
        await ours.close()
        await theirs.close()


def test_the_pod_stays_ready_and_the_others_answer_20_callers_while_a_model_is_loaded_again(
    triton: Started, repository: Path
) -> None:
    found: list[int] = []
    answers: list[bool] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(0.05):
            found.extend(triton.status(path) for path in ("/v2/health/ready", "/v2/models/piper_ryan/ready"))

    def infer(number: int) -> None:
        given = InferInput("IN", [1, 1], "INT32")
        given.set_data_from_numpy(np.array([[number]], np.int32))
        with InferenceServerClient(f"127.0.0.1:{triton.grpc_port}") as client:
            while not ended.wait(0.02):
                answers.append(bool(client.infer("their_own", [given]).as_numpy("OUT")[0, 0] == 2 * number))

    with ThreadPoolExecutor(21) as callers:
        asking = [callers.submit(ask), *(callers.submit(infer, number) for number in range(20))]
        # Triton loads again only what has changed.
        (repository / "their_slow" / "1" / "model.py").touch()
        status = triton.status("/v2/repository/models/their_slow/load", post=True, secret=_SECRET)
        ended.set()
    for each in asking:
        each.result()
    assert status == 200
    assert len(found) > 10
    assert set(found) == {200}
    assert len(answers) > 100
    assert all(answers)
