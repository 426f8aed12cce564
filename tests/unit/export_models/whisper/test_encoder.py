import copy
from typing import Any

import numpy as np
import openvino as ov
import pytest
import torch
from numpy.typing import NDArray
from transformers import WhisperForConditionalGeneration

from scripts.export_models.graphs.fast_int8 import FAST_INT8
from scripts.export_models.whisper.encoder import fitted_gelu, whisper_encoder
from scripts.export_models.whisper.layers import model, named_input
from scripts.export_models.whisper.served import recognizer_module
from tests.processors import exact_int8
from tests.speech import say
from tests.unit.whisper.conftest import CHECKPOINT

SENTENCE = "The meeting was moved from Monday to Friday."
# CTranslate2's int8 is off by 1.8e-2 on the same features. What espeak-ng says depends a little on what it said before.
LARGEST_ERROR = 0.018


@pytest.fixture(scope="module")
def checkpoint() -> Any:
    return WhisperForConditionalGeneration.from_pretrained(CHECKPOINT).float().eval()


@pytest.fixture(scope="module")
def graph(checkpoint: Any) -> Any:
    return whisper_encoder(checkpoint.config, checkpoint.model.state_dict())


def _compiled(graph: Any, **settings: Any) -> Any:
    """As it is served, but for these settings."""
    served = recognizer_module("graphs").Processor(1, FAST_INT8).settings
    return ov.Core().compile_model(graph, "CPU", {**served, **settings})


def _features(seconds: int) -> NDArray[np.float32]:
    samples = seconds * 16_000
    features: NDArray[np.float32] = recognizer_module().LogMel(80)(say(SENTENCE)[:samples], samples)[None]
    return features


def _original(checkpoint: Any, features: NDArray[np.float32]) -> NDArray[np.float32]:
    """The original's answer; for a shorter window, of an original with as many positions."""
    encoder = copy.deepcopy(checkpoint.model.encoder)
    frames = features.shape[2] // 2
    encoder.config.max_source_positions = encoder.max_source_positions = frames
    positions = encoder.embed_positions.weight[:frames].detach()
    encoder.embed_positions = torch.nn.Embedding(frames, positions.shape[1], _weight=positions)
    with torch.inference_mode():
        answer: NDArray[np.float32] = encoder(torch.from_numpy(features))[0].numpy()
    return answer


@pytest.mark.parametrize("precision", ["bf16", "f32"])
@pytest.mark.parametrize("seconds", [8, 3])
def test_a_window_is_encoded_as_by_the_original(checkpoint: Any, graph: Any, seconds: int, precision: str) -> None:
    features = _features(seconds)
    ours = _compiled(graph, INFERENCE_PRECISION_HINT=precision)(features)["encoded"]
    original = _original(checkpoint, features)
    assert np.linalg.norm(ours - original) < LARGEST_ERROR * np.linalg.norm(original)


@pytest.mark.parametrize("precision", ["bf16", "f32"])
def test_a_window_of_the_one_length_is_encoded_as_by_the_original(checkpoint: Any, precision: str) -> None:
    graph = whisper_encoder(checkpoint.config, checkpoint.model.state_dict(), one_length=True)
    features = _features(8)
    ours = _compiled(graph, INFERENCE_PRECISION_HINT=precision)(features)["encoded"]
    original = _original(checkpoint, features)
    assert np.linalg.norm(ours - original) < LARGEST_ERROR * np.linalg.norm(original)


def test_gelu_within_one_length_is_off_by_less_than_a_ten_thousandth() -> None:
    x = np.linspace(-8, 8, 4001, dtype=np.float32)[None]
    parameter = named_input("x", [1, x.size])
    graph = model("gelu", [parameter], {"given": fitted_gelu(parameter)})
    ours = _compiled(graph, INFERENCE_PRECISION_HINT="f32")(x)["given"]
    assert np.abs(ours - torch.nn.functional.gelu(torch.from_numpy(x)).numpy()).max() < 1e-4


@exact_int8
def test_every_linear_layer_is_multiplied_in_integers(checkpoint: Any, graph: Any) -> None:
    nodes = [node.get_rt_info() for node in _compiled(graph).get_runtime_model().get_ordered_ops()]
    products = [node for node in nodes if node["layerType"].astype(str) == "FullyConnected"]
    kinds = [node["runtimePrecision"].astype(str) for node in products]
    assert (
        sum(kind in ("i8", "u8") for kind in kinds)
        == 6 * checkpoint.config.encoder_layers + 2 * checkpoint.config.decoder_layers
    )


@exact_int8
@pytest.mark.parametrize("precision", ["bf16", "f32"])
def test_queries_are_multiplied_by_keys_in_integers_within_attention(
    checkpoint: Any, graph: Any, precision: str
) -> None:
    compiled = _compiled(graph, INFERENCE_PRECISION_HINT=precision)
    nodes = [node.get_rt_info() for node in compiled.get_runtime_model().get_ordered_ops()]
    fused = [node["runtimePrecision"].astype(str) for node in nodes if node["layerType"].astype(str) == "Subgraph"]
    assert fused.count("i8") == checkpoint.config.encoder_layers


def test_a_window_of_nothing_but_zeros_is_encoded_as_by_the_original(checkpoint: Any, graph: Any) -> None:
    features = np.zeros((1, 80, 400), np.float32)
    ours = _compiled(graph)(features)["encoded"]
    original = _original(checkpoint, features)
    assert np.linalg.norm(ours - original) < 2 * LARGEST_ERROR * np.linalg.norm(original)


def test_the_same_window_is_encoded_the_same_each_time(graph: Any) -> None:
    compiled, features = _compiled(graph), _features(8)
    first, second = (compiled(features)["encoded"] for _ in range(2))
    assert np.array_equal(first, second)
