"""The one place that speaks to Triton; its errors become ours here and go no further."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import grpc
import numpy as np
import tritonclient.grpc.aio as grpc_client
from numpy.typing import NDArray
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from frontend.errors import BadGateway, Internal
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

Arrays = dict[str, NDArray[Any]]


class Triton:
    """One Triton server over one gRPC channel; made inside the event loop that uses it."""

    def __init__(self, address: str, deadline: float) -> None:
        self._client = grpc_client.InferenceServerClient(address, channel_args=_CHANNEL)
        self._deadline = deadline

    async def close(self) -> None:
        await self._client.close()

    async def infer(self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str]) -> Arrays:
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
            result = await self._client.infer(model, given, outputs=wanted, client_timeout=self._deadline)
        except InferenceServerException as error:
            raise _translate(model, error) from None
        return checked(model, {name: result.as_numpy(name) for name in outputs})

    async def ready(self, models: Sequence[str]) -> bool:
        """Whether the server and every one of ``models`` can take requests now."""
        try:
            if not await self._client.is_server_ready(client_timeout=2.0):
                return False
            answers = await asyncio.gather(*(self._client.is_model_ready(m, client_timeout=2.0) for m in models))
        except InferenceServerException:
            return False
        return all(answers)


def _translate(model: str, error: InferenceServerException) -> BadGateway | Internal:
    """Triton's status to ours. Its words may hold file paths: they go to the log alone."""
    status = error.status() or ""
    log.warning("Triton failed", extra={"fields": {"model": model, "status": status, "details": error.message()}})
    if status == str(grpc.StatusCode.INVALID_ARGUMENT):
        return Internal("the request could not be processed")
    if status == str(grpc.StatusCode.DEADLINE_EXCEEDED):
        return BadGateway(_LATE)
    return BadGateway(_UNREACHABLE)


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
