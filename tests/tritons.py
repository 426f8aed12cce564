"""Fake Tritons over real gRPC, each with its own loopback address."""

import asyncio
from typing import Any

import grpc
import numpy as np
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import np_to_triton_dtype, triton_to_np_dtype

from tests.fakes import FakeTriton

MODEL = "m3_embedder"
_STOPPING = "Server is stopping, scheduler for model has stopped accepting new inference requests"


class TritonService(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Serves only the embedder, which takes ``seconds`` per call. ``calls`` has the time of each call."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.calls: list[float] = []
        self.seconds = seconds
        self.is_stopping = False
        self._fake = FakeTriton()

    async def RepositoryIndex(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        await self._refuse_when_stopping(context)
        entry = service_pb2.RepositoryIndexResponse.ModelIndex(name=MODEL, version="1", state="READY")
        return service_pb2.RepositoryIndexResponse(models=[entry])

    async def ModelReady(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        return service_pb2.ModelReadyResponse(ready=True)

    async def ModelConfig(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        answer = service_pb2.ModelConfigResponse()
        answer.config.max_batch_size = 4
        answer.config.instance_group.add(count=2)
        return answer

    async def ModelInfer(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        await self._refuse_when_stopping(context)
        self.calls.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.seconds)
        inputs = {
            tensor.name: np.frombuffer(raw, triton_to_np_dtype(tensor.datatype)).reshape(tensor.shape)
            for tensor, raw in zip(request.inputs, request.raw_input_contents, strict=True)
        }
        answer = service_pb2.ModelInferResponse(model_name=request.model_name)
        outputs = self._fake._answer(request.model_name, inputs, [output.name for output in request.outputs])
        for name, array in outputs.items():
            answer.outputs.add(name=name, datatype=np_to_triton_dtype(array.dtype), shape=array.shape)
            answer.raw_output_contents.append(array.tobytes())
        return answer

    async def _refuse_when_stopping(self, context: Any) -> None:
        if self.is_stopping:
            await context.abort(grpc.StatusCode.UNAVAILABLE, _STOPPING)


class GrpcTriton:
    """A fake Triton at ``host`` and ``port``, which stops like a Triton that gets SIGTERM."""

    def __init__(self, host: str, port: int = 0, seconds: float = 0.0, credentials: Any = None) -> None:
        self.service = TritonService(seconds)
        self.host = host
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(self.service, self._server)
        address = f"{host}:{port}"
        add = self._server.add_insecure_port
        self.port = self._server.add_secure_port(address, credentials) if credentials else add(address)

    async def start(self) -> None:
        await self._server.start()

    async def stop(self) -> None:
        """Refuse new calls, and finish those in flight."""
        self.service.is_stopping = True
        await asyncio.sleep(self.service.seconds)
        await self._server.stop(5.0)
