"""The one place that speaks to Triton; its errors become ours here and go no further."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

import grpc
import numpy as np
import tritonclient.grpc.aio as grpc_client
from numpy.typing import NDArray
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from frontend.dispatch.backends import Capacity
from frontend.errors import BadGateway, BrokenModel, Internal, Unreached
from frontend.observe import log

_LARGEST_MESSAGE = 2**31 - 1
_CHANNEL = [
    # Given arguments replace the client's own, so the message sizes stand here too.
    ("grpc.max_send_message_length", _LARGEST_MESSAGE),
    ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
    # After an outage the default backoff would keep a healthy Triton waiting for seconds.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]
_UNREACHABLE = "the model backend is temporarily unreachable, retry with backoff"
_LATE = "the model backend did not answer in time, retry with backoff"

# What Triton and gRPC say of a call that no model has seen.
_NEVER_ARRIVED = ("failed to connect", "is stopping", "is shutting down")
_SERVER_AWAY = (str(grpc.StatusCode.UNAVAILABLE), str(grpc.StatusCode.DEADLINE_EXCEEDED))
_DEAD_PROCESS = "is not healthy"
_PROBE_SECONDS = 0.5
_RELOAD_SECONDS = 300.0
_BATCHES = 2

Arrays = dict[str, NDArray[Any]]
_Answer = TypeVar("_Answer")


class Triton:
    """One Triton server over one gRPC channel; made inside the event loop that uses it."""

    def __init__(self, address: str) -> None:
        self._client = grpc_client.InferenceServerClient(address, channel_args=_CHANNEL)

    async def close(self) -> None:
        await self._client.close()

    async def infer(
        self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str], seconds: float
    ) -> Arrays:
        """Run a model on arrays and answer the named outputs; strings are arrays of ``bytes`` objects.

        Raises ``BadGateway`` when Triton is away, late or fails, and ``Internal`` when it calls our request wrong.
        Cancelling the task cancels the call.
        """
        given = []
        for name, array in inputs.items():
            tensor = grpc_client.InferInput(name, array.shape, np_to_triton_dtype(array.dtype))
            tensor.set_data_from_numpy(array)
            given.append(tensor)
        wanted = [grpc_client.InferRequestedOutput(name) for name in outputs]
        try:
            result = await self._client.infer(model, given, outputs=wanted, client_timeout=seconds)
        except InferenceServerException as error:
            raise _translate(model, error) from None
        return checked(model, {name: result.as_numpy(name) for name in outputs})

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        """Those of ``models`` that can take calls now; ``BadGateway`` if the server does not say."""
        answers = await asyncio.gather(*(self._is_ready(model) for model in models))
        return {model for model, is_ready in zip(models, answers, strict=True) if is_ready}

    async def _is_ready(self, model: str) -> bool:
        try:
            return bool(await self._client.is_model_ready(model, client_timeout=_PROBE_SECONDS))
        except InferenceServerException as error:
            if error.status() in _SERVER_AWAY:
                raise BadGateway(_UNREACHABLE) from None
            return False

    async def capacity(self, model: str) -> Capacity:
        """What its configuration lets it take at once. Models in Python look whether calls were cancelled."""
        config = (await _answered(self._client.get_model_config(model, client_timeout=_PROBE_SECONDS))).config
        lanes = max(1, sum(group.count for group in config.instance_group))
        stops = config.backend == "python" or config.runtime == "model.py"
        return Capacity(int(_BATCHES * max(1, config.max_batch_size) * lanes), lanes, stops)

    async def reload(self, model: str) -> None:
        """Unload a model and load it again, which starts a process that died anew."""
        await _answered(self._client.unload_model(model, client_timeout=_RELOAD_SECONDS))
        await _answered(self._client.load_model(model, client_timeout=_RELOAD_SECONDS))


async def _answered(call: Awaitable[_Answer]) -> _Answer:
    try:
        return await call
    except InferenceServerException as error:
        raise BadGateway(_UNREACHABLE) from error


def _translate(model: str, error: InferenceServerException) -> BadGateway | Internal:
    """Triton's status to ours. Its words may hold file paths: they go to the log alone."""
    status = error.status() or ""
    log.warning("Triton failed", extra={"fields": {"model": model, "status": status, "details": error.message()}})
    if status == str(grpc.StatusCode.INVALID_ARGUMENT):
        return Internal("the request could not be processed")
    if status == str(grpc.StatusCode.DEADLINE_EXCEEDED):
        return BadGateway(_LATE)
    details = error.message() or ""
    if any(words in details for words in _NEVER_ARRIVED):
        return Unreached(_UNREACHABLE)
    return BrokenModel(_UNREACHABLE) if _DEAD_PROCESS in details else BadGateway(_UNREACHABLE)


def checked(model: str, arrays: Mapping[str, NDArray[Any] | None]) -> Arrays:
    """The arrays, or ``BadGateway`` where one is missing or holds what is no number."""
    whole: Arrays = {}
    for name, array in arrays.items():
        if array is None or (array.dtype.kind == "f" and not np.isfinite(array).all()):
            raise bad_answer(model, f"{name} is missing or not finite")
        whole[name] = array
    return whole


def bad_answer(model: str, details: str) -> BadGateway:
    """What a tensor that cannot be right becomes; the details go to the log alone."""
    log.error("bad tensor", extra={"fields": {"model": model, "details": details}})
    return BadGateway("the model backend gave a bad answer, retry with backoff")


def text_tensor(value: str) -> NDArray[np.object_]:
    """A string as Triton's BYTES tensor [1, 1]."""
    return np.array([[value.encode("utf-8")]], np.object_)
