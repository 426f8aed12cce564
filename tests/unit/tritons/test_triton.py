"""The Triton client over real gRPC."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import numpy as np
import pytest
from numpy.typing import NDArray
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.grpc.model_config_pb2 import ModelInstanceGroup

from frontend.errors import AccountRefused, BadGateway, Unreached
from frontend.observe.logs import NO_REQUEST, request_id
from frontend.tritons import triton as module
from frontend.tritons.inference import Capacity
from frontend.tritons.triton import Triton
from scripts.local_triton.checks import free_port

MODELS = ["whisper", "embedder"]


class Service(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Two models: one in Python with two instances, one in Triton's own process."""

    def __init__(self) -> None:
        self.states = {"whisper": ("READY", ""), "embedder": ("READY", "")}
        self.not_ready: set[str] = set()
        # Error messages of the next calls of the Python model; empty for success. And the status of such errors.
        self.words: list[str] = []
        self.status = grpc.StatusCode.INTERNAL
        self.calls: list[Any] = []
        self.done: list[str] = []
        self.refuses_loads = False
        self.gpus: list[int] = []
        self.kind = ModelInstanceGroup.KIND_CPU
        # The calls and their secrets.
        self.secrets: list[tuple[str, str]] = []
        self.closed = False

    async def note(self, name: str, context: Any) -> None:
        self.secrets.append((name, dict(context.invocation_metadata()).get("triton-grpc-protocol-quartet", "")))
        if self.closed:
            words = "This protocol is restricted, expecting header 'triton-grpc-protocol-quartet'"
            await context.abort(grpc.StatusCode.UNAVAILABLE, words)

    async def RepositoryIndex(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        await self.note("RepositoryIndex", context)
        entries = [
            service_pb2.RepositoryIndexResponse.ModelIndex(name=name, version="1", state=state, reason=reason)
            for name, (state, reason) in self.states.items()
        ]
        return service_pb2.RepositoryIndexResponse(models=entries)

    async def ModelReady(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        await self.note("ModelReady", context)
        return service_pb2.ModelReadyResponse(ready=request.name not in self.not_ready)

    async def ModelConfig(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        await self.note("ModelConfig", context)
        answer = service_pb2.ModelConfigResponse()
        answer.config.backend = "python" if request.name == "whisper" else "onnxruntime"
        answer.config.max_batch_size = 8
        answer.config.dynamic_batching.max_queue_delay_microseconds = 2000
        answer.config.instance_group.add(count=2, gpus=self.gpus, kind=self.kind)
        answer.config.input.add(name="audio", data_type="TYPE_FP32", dims=[-1])
        answer.config.input.add(name="language", data_type="TYPE_STRING", dims=[1])
        return answer

    async def ModelInfer(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        await self.note("ModelInfer", context)
        self.calls.append(request)
        if self.words and (words := self.words.pop(0)):
            await context.abort(self.status, words)
        return service_pb2.ModelInferResponse(model_name=request.model_name)

    async def RepositoryModelUnload(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        await self.note("RepositoryModelUnload", context)
        self.done.append(f"unload {request.model_name}")
        return service_pb2.RepositoryModelUnloadResponse()

    async def RepositoryModelLoad(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        await self.note("RepositoryModelLoad", context)
        self.done.append(f"load {request.model_name}")
        if self.refuses_loads:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "load failed for model 'whisper': no memory")
        return service_pb2.RepositoryModelLoadResponse()


@pytest.fixture
async def service() -> Service:
    return Service()


@asynccontextmanager
async def serving(service: Service, secret: str = "") -> AsyncIterator[Triton]:
    server = grpc.aio.server()
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    made = Triton(f"127.0.0.1:{port}", secret=secret)
    for model in MODELS:
        await made.capacity(model)
    yield made
    await made.close()
    await server.stop(None)


@pytest.fixture
async def triton(service: Service) -> AsyncIterator[Triton]:
    async with serving(service) as made:
        yield made


@pytest.fixture
def _proxied(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with a proxy that does not answer."""
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("no_proxy", raising=False)


@pytest.mark.usefixtures("_proxied")
async def test_the_proxy_of_the_environment_is_not_used(service: Service) -> None:
    async with serving(service) as triton:
        assert await triton.ready_models(MODELS) == set(MODELS)


async def test_models_that_answer_are_not_broken(triton: Triton) -> None:
    assert await triton.broken_models(MODELS) == set()


async def test_each_process_of_a_python_model_gets_an_empty_call(triton: Triton, service: Service) -> None:
    await triton.broken_models(MODELS)
    assert [call.model_name for call in service.calls] == ["whisper", "whisper"]
    assert [list(tensor.shape) for tensor in service.calls[0].inputs] == [[1, 0], [1, 1]]


async def test_instances_are_counted_on_each_gpu(triton: Triton, service: Service) -> None:
    assert [(await triton.capacity(model)).instances for model in MODELS] == [2, 2]
    service.gpus = [0, 1, 3]
    assert [(await triton.capacity(model)).instances for model in MODELS] == [6, 6]
    await triton.broken_models(MODELS)
    assert len(service.calls) == 6


async def test_the_capacity_is_that_of_the_configuration(triton: Triton, service: Service) -> None:
    assert await triton.capacity("embedder") == Capacity(2, 8, delay=0.002)
    service.kind, service.gpus = ModelInstanceGroup.KIND_GPU, [0]
    assert await triton.capacity("whisper") == Capacity(2, 8, gpu=True, stops=True, delay=0.002)


@pytest.mark.parametrize("before", [[], [""]], ids=["the first", "the second"])
async def test_a_model_with_a_dead_process_is_broken(triton: Triton, service: Service, before: list[str]) -> None:
    service.words = [*before, "Stub process 'whisper_0_0' is not healthy."]
    assert await triton.broken_models(MODELS) == {"whisper"}


async def test_another_error_of_a_call_is_no_death(triton: Triton, service: Service) -> None:
    service.words = ["an error in the model"]
    assert await triton.broken_models(MODELS) == set()


async def test_a_loaded_model_that_is_not_ready_is_broken(triton: Triton, service: Service) -> None:
    service.not_ready.add("whisper")
    assert await triton.broken_models(MODELS) == {"whisper"}


@pytest.mark.parametrize(
    ("state", "reason", "broken"),
    [
        ("UNAVAILABLE", "Internal: no memory", {"embedder"}),
        ("UNAVAILABLE", "unloaded", set()),
        ("LOADING", "", set()),
        ("UNLOADING", "", set()),
        ("", "", set()),
    ],
    ids=["failed", "unloaded", "loading", "unloading", "never loaded"],
)
async def test_a_model_that_is_not_loaded_is_broken_only_after_a_failed_load(
    triton: Triton, service: Service, state: str, reason: str, broken: set[str]
) -> None:
    service.states["embedder"] = (state, reason)
    assert await triton.broken_models(MODELS) == broken


async def test_only_the_given_models_are_checked(triton: Triton, service: Service) -> None:
    service.states["embedder"] = ("UNAVAILABLE", "Internal: no memory")
    assert await triton.broken_models(["whisper"]) == set()


async def test_a_model_is_unloaded_before_it_is_loaded(triton: Triton, service: Service) -> None:
    await triton.reload("whisper")
    assert service.done == ["unload whisper", "load whisper"]


async def test_a_failed_load_keeps_tritons_message_for_the_log(triton: Triton, service: Service) -> None:
    service.refuses_loads = True
    with pytest.raises(BadGateway) as failed:
        await triton.reload("whisper")
    assert "no memory" not in failed.value.message
    assert "no memory" in str(failed.value.__cause__)


@pytest.mark.parametrize("call", ["ready_models", "broken_models", "reload"])
async def test_model_control_has_the_secret_and_no_other_call_has_it(service: Service, call: str) -> None:
    async with serving(service, secret="s3cret") as triton:
        await getattr(triton, call)("whisper" if call == "reload" else MODELS)
    control = {"RepositoryIndex", "RepositoryModelUnload", "RepositoryModelLoad"}
    assert {name for name, secret in service.secrets if secret == "s3cret"} <= control
    assert {name for name, secret in service.secrets if not secret} & control == set()


async def test_a_triton_that_wants_another_secret_refuses(triton: Triton, service: Service) -> None:
    service.closed = True
    for call in (triton.ready_models(MODELS), triton.broken_models(MODELS), triton.reload("whisper")):
        with pytest.raises(AccountRefused):
            await call


async def test_a_port_without_a_server_raises_unreached() -> None:
    made = Triton(f"127.0.0.1:{free_port()}")
    with pytest.raises(Unreached):
        await made.ready_models(MODELS)
    await made.close()


async def test_a_call_that_a_server_cancels_at_its_end_may_go_to_another(triton: Triton, service: Service) -> None:
    service.status, service.words = grpc.StatusCode.CANCELLED, ["CANCELLED"]
    with pytest.raises(Unreached):
        await triton.infer("whisper", {"audio": np.zeros((1, 1), np.float32)}, [], 5.0)


async def test_the_windows_of_a_recording_are_not_all_serialized_at_once(
    triton: Triton, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, tensor = 0, module._tensor

    def count(name: str, array: NDArray[Any]) -> Any:
        nonlocal made
        made += 1
        return tensor(name, array)

    monkeypatch.setattr(module, "_tensor", count)
    window = {"audio": np.zeros((1, 30 * 16_000), np.float32)}
    calls = asyncio.gather(*(triton.infer("embedder", window, [], 5) for _ in range(20)))
    counts = []
    while not calls.done():
        before = made
        await asyncio.sleep(0)
        counts.append(made - before)
    await calls
    assert (sum(counts), max(counts)) == (20, 2)


async def test_a_call_has_the_request_id(service: Service, triton: Triton) -> None:
    request_id.set("order-66")
    await triton.infer("embedder", {}, [], 5)
    request_id.set(NO_REQUEST)
    await triton.infer("embedder", {}, [], 5)
    assert [call.id for call in service.calls] == ["order-66", ""]
