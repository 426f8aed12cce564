"""The Triton client. It turns Triton's errors into the frontend's errors."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

import grpc
import numpy as np
import tritonclient.grpc.aio as grpc_client
from numpy.typing import NDArray
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.grpc.model_config_pb2 import DataType, ModelInstanceGroup
from tritonclient.utils import InferenceServerException, np_to_triton_dtype, triton_to_np_dtype

from frontend.concurrency.turnstile import Turnstile
from frontend.config.pools import Tls
from frontend.errors import AccountRefused, BadAnswer, BadGateway, BrokenModel, Internal, Late, Unloaded, Unreached
from frontend.observe.logs import NO_REQUEST, log, request_id
from frontend.observe.record import current
from frontend.tritons.inference import Capacity, Trial

_LARGEST_MESSAGE = 2**31 - 1
_CHANNEL = [
    # Tritons are in the frontend's own network, so no proxy is used.
    ("grpc.enable_http_proxy", 0),
    # These arguments replace the client's own, which include the message sizes.
    ("grpc.max_send_message_length", _LARGEST_MESSAGE),
    ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
    # After an outage the default backoff would keep a healthy Triton waiting for seconds.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]
_UNREACHABLE = "the model backend is temporarily unreachable, retry with backoff"
_LATE = "the model backend did not answer in time, retry with backoff"

# Parts of messages for calls that reached no model.
_NEVER_ARRIVED = ("failed to connect", "is stopping", "is shutting down")
# A Triton that ends, or reloads a model, says so of calls that it did not take.
_UNLOADED = "has no available versions"
_SERVER_AWAY = (str(grpc.StatusCode.UNAVAILABLE), str(grpc.StatusCode.DEADLINE_EXCEEDED))
_DEAD_PROCESS = "is not healthy"
# The header that opens model control, as triton.args names it, and what a Triton says without it.
_SECRET = "triton-grpc-protocol-quartet"
_CLOSED = "is restricted"
# The timeout of a probe.
_PROBE_SECONDS = 0.5
# The timeout of management calls. Triton takes a second to report a dead process.
_MANAGEMENT_SECONDS = 5.0
_TRIAL_SECONDS = 10.0
_RELOAD_SECONDS = 300.0

# Bytes of inputs from which on a call counts as large: thirty seconds of audio take 3 ms to serialize. And how many of
# these begin per iteration of the event loop.
_LARGE_BYTES, _LARGE_AT_ONCE = 256 * 1024, 2

Arrays = dict[str, NDArray[Any]]
_Answer = TypeVar("_Answer")


class Triton:
    """One Triton server at one address, over one connection. Make it inside the event loop that uses it.

    With ``tls``, the certificate must have the name ``tls.name``. ``secret`` opens model control. Raises ``OSError`` if
    a TLS file cannot be read.
    """

    def __init__(self, address: str, tls: Tls | None = None, secret: str = "") -> None:
        options: list[tuple[str, Any]] = [*_CHANNEL]
        credentials = None
        if tls is not None:
            options.append(("grpc.ssl_target_name_override", tls.name))
            key, certificate = (path and path.read_bytes() for path in (tls.key, tls.certificate))
            credentials = grpc.ssl_channel_credentials(tls.ca.read_bytes(), key, certificate)
        self._client = grpc_client.InferenceServerClient(address, creds=credentials, channel_args=options)
        # The client has no call for all ready models at once. Equal channels share a connection.
        self._channel = (
            grpc.aio.secure_channel(address, credentials, options)
            if credentials
            else grpc.aio.insecure_channel(address, options)
        )
        self._index = service_pb2_grpc.GRPCInferenceServiceStub(self._channel).RepositoryIndex
        self._control = {_SECRET: secret} if secret else {}
        self._large = Turnstile(_LARGE_AT_ONCE)
        # By Python model: the number of its processes, and inputs without elements.
        self._processes: dict[str, tuple[int, list[grpc_client.InferInput]]] = {}

    async def close(self) -> None:
        await self._client.close()
        await self._channel.close()

    async def infer(
        self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str], seconds: float
    ) -> Arrays:
        """Run a model and return the named outputs; strings are arrays of ``bytes`` objects (dtype object).

        Raises ``BadGateway`` if Triton is away, late or fails, and ``Internal`` if it rejects the request as invalid.
        Cancelling the task cancels the call. The call carries the request id and the trace.
        """
        if sum(array.nbytes for array in inputs.values()) >= _LARGE_BYTES:
            # All windows of a long recording may begin at once.
            await self._large.turn()
        tensors = [_tensor(name, array) for name, array in inputs.items()]
        requested = [grpc_client.InferRequestedOutput(name) for name in outputs]
        name = request_id.get()
        try:
            result = await self._client.infer(
                model,
                tensors,
                outputs=requested,
                request_id="" if name == NO_REQUEST else name,
                client_timeout=seconds,
                headers=current().tracer.outgoing(),
            )
        except InferenceServerException as error:
            raise _translate(model, error) from None
        return checked(model, {name: result.as_numpy(name) for name in outputs})

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        """The ``models`` that are ready.

        Raises ``Unreached`` if no server listens, ``AccountRefused`` if it refuses the secret, ``BadGateway`` if it is
        late.
        """
        try:
            index = await self._index(
                service_pb2.RepositoryIndexRequest(ready=True),
                timeout=_PROBE_SECONDS,
                metadata=tuple(self._control.items()),
            )
        except grpc.aio.AioRpcError as error:
            raise _away(error.details()) from None
        return {entry.name for entry in index.models if entry.state == "READY"} & set(models)

    async def capacity(self, model: str) -> Capacity:
        """A model's capacity, by its configuration. Only Python models stop when a call is cancelled."""
        config = (await _answered(self._client.get_model_config(model, client_timeout=_MANAGEMENT_SECONDS))).config
        # The count is per GPU. Triton lists the GPUs if the file names none.
        instances = max(1, sum(group.count * max(1, len(group.gpus)) for group in config.instance_group))
        gpu = any(group.kind == ModelInstanceGroup.KIND_GPU for group in config.instance_group)
        in_python = config.backend == "python" or config.runtime == "model.py"
        self._processes.pop(model, None)
        if in_python:
            self._processes[model] = instances, [_empty(tensor, config) for tensor in config.input]
        delay = config.dynamic_batching.max_queue_delay_microseconds / 1e6
        return Capacity(instances, max(1, config.max_batch_size), gpu, stops=in_python, delay=delay)

    async def try_out(self, model: str, trial: Trial) -> None:
        """Run a trial. Raises ``BadAnswer`` if an output is missing or not finite."""
        await self.infer(model, trial.inputs, trial.outputs, _TRIAL_SECONDS)

    async def broken_models(self, models: Sequence[str]) -> set[str]:
        """The ``models`` with a dead process or a failed last load. An empty call tests a process.

        Models that are unloaded, loading or unloading are left out.
        """
        index = await _answered(
            self._client.get_model_repository_index(self._control, client_timeout=_MANAGEMENT_SECONDS)
        )
        known = [entry for entry in index.models if entry.name in models]
        loaded = {entry.name for entry in known if entry.state == "READY"}
        failed = {
            entry.name for entry in known if entry.state == "UNAVAILABLE" and entry.reason not in ("", "unloaded")
        }
        # For a model without processes, the index is enough.
        python_models = [model for model in loaded if model in self._processes]
        alive = await asyncio.gather(*(self._is_alive(model) for model in python_models))
        return (failed - loaded) | {model for model, lives in zip(python_models, alive, strict=True) if not lives}

    async def _is_alive(self, model: str) -> bool:
        """Whether a loaded model is ready and all its processes answer. Triton sends calls to them in rotation."""
        try:
            if not await self._client.is_model_ready(model, client_timeout=_MANAGEMENT_SECONDS):
                return False
        except InferenceServerException as error:
            if error.status() in _SERVER_AWAY:
                raise _away(error.message()) from None
            return False
        instances, nothing = self._processes[model]
        for _ in range(instances):
            try:
                await self._client.infer(model, nothing, client_timeout=_MANAGEMENT_SECONDS)
            except InferenceServerException as error:
                return _DEAD_PROCESS not in (error.message() or "")
        return True

    async def reload(self, model: str) -> None:
        """Unload a model and load it again, which restarts its processes."""
        await _answered(self._client.unload_model(model, self._control, client_timeout=_RELOAD_SECONDS))
        await _answered(self._client.load_model(model, self._control, client_timeout=_RELOAD_SECONDS))


def _tensor(name: str, array: NDArray[Any]) -> grpc_client.InferInput:
    tensor = grpc_client.InferInput(name, array.shape, np_to_triton_dtype(array.dtype))
    tensor.set_data_from_numpy(array)
    return tensor


def _empty(tensor: Any, config: Any) -> grpc_client.InferInput:
    """An input without elements, if its configured shape allows that."""
    shape = [0 if size == -1 else size for size in tensor.dims]
    dtype = triton_to_np_dtype(DataType.Name(tensor.data_type).removeprefix("TYPE_").replace("STRING", "BYTES"))
    filler = b"" if dtype is np.object_ else 0
    return _tensor(tensor.name, np.full([1, *shape] if config.max_batch_size else shape, filler, dtype))


async def _answered(call: Awaitable[_Answer]) -> _Answer:
    try:
        return await call
    except InferenceServerException as error:
        raise _away(error.message()) from error


def _away(details: str | None) -> BadGateway:
    if _CLOSED in (details or ""):
        return AccountRefused(_UNREACHABLE)
    arrived = not any(words in (details or "") for words in _NEVER_ARRIVED)
    return BadGateway(_UNREACHABLE) if arrived else Unreached(_UNREACHABLE)


def _translate(model: str, error: InferenceServerException) -> BadGateway | Internal:
    """The frontend's error for Triton's. Triton's message may have file paths, so only the log gets it."""
    status = error.status() or ""
    log.warning("Triton failed", extra={"fields": {"model": model, "status": status, "details": error.message()}})
    if status == str(grpc.StatusCode.INVALID_ARGUMENT):
        return Internal("the request could not be processed")
    if status == str(grpc.StatusCode.DEADLINE_EXCEEDED):
        return Late(_LATE)
    if status == str(grpc.StatusCode.CANCELLED):
        # The frontend did not cancel it. A server that ends cancels the calls that it has not taken.
        return Unreached(_UNREACHABLE)
    if _UNLOADED in (error.message() or ""):
        return Unloaded(_UNREACHABLE)
    return BrokenModel(_UNREACHABLE) if _DEAD_PROCESS in (error.message() or "") else _away(error.message())


def checked(model: str, arrays: Mapping[str, NDArray[Any] | None]) -> Arrays:
    """The arrays. Raises ``BadAnswer`` if one is missing or not finite."""
    whole: Arrays = {}
    for name, array in arrays.items():
        if array is None or (array.dtype.kind == "f" and not np.isfinite(array).all()):
            raise bad_answer(model, f"{name} is missing or not finite")
        whole[name] = array
    return whole


def bad_answer(model: str, details: str) -> BadAnswer:
    """The error for a wrong tensor. Only the log gets the details."""
    log.error("bad tensor", extra={"fields": {"model": model, "details": details}})
    return BadAnswer("the model backend gave a bad answer, retry with backoff")


def text_tensor(value: str) -> NDArray[np.object_]:
    """A string as a BYTES tensor of shape [1, 1]."""
    return np.array([[value.encode("utf-8")]], np.object_)
