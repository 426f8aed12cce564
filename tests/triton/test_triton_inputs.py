"""A real Triton answers the requests that are made for its own tools, model by model."""

from typing import Any

import numpy as np
import pytest
from tritonclient.grpc import InferenceServerClient, InferInput
from tritonclient.utils import triton_to_np_dtype

from frontend.operations.packed_model import WEIGHTS
from scripts.benchmark.product.triton_inputs import requests
from scripts.run.model_configs import parsed
from scripts.run.stack import Stack
from tests.conftest import ROOT

pytestmark = pytest.mark.triton
REPOSITORY = ROOT / "model_repository"
# What the demo serves.
MODELS = ("whisper_turbo", "whisper_large_v3", "kokoro", "piper_ryan", "m3_embedder", "m3_reranker")


def _tensor(said: Any, value: dict[str, Any], is_batched: bool) -> InferInput:
    """As perf_analyzer makes it: the file has no dimension of a batch."""
    kind = str(said.DESCRIPTOR.fields_by_name["data_type"].enum_type.values_by_number[said.data_type].name)
    dtype = kind.removeprefix("TYPE_").replace("STRING", "BYTES")
    shape = [*([1] if is_batched else []), *value["shape"]]
    content = [each.encode() if isinstance(each, str) else each for each in value["content"]]
    made = InferInput(said.name, shape, dtype)
    made.set_data_from_numpy(np.array(content, triton_to_np_dtype(dtype)).reshape(shape))
    return made


@pytest.mark.parametrize("model", MODELS)
def test_each_request_is_answered(stack: Stack, model: str) -> None:
    config = parsed(REPOSITORY / model / "config.pbtxt")
    inputs = {each.name: each for each in config.input}
    with InferenceServerClient(f"127.0.0.1:{stack.triton.ports.grpc}") as client:
        for request in requests(model, REPOSITORY, 2):
            tensors = [_tensor(inputs[name], value, config.max_batch_size > 0) for name, value in request.items()]
            answer = client.infer(model, tensors)
            # The demo's checkpoint weighs no tokens.
            assert all(answer.as_numpy(each.name).size for each in config.output if each.name != WEIGHTS)
