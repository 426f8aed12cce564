"""Refuse what Triton's C++ ONNX Runtime backend refuses, so that a repository which loads here loads there.

The rules are those of ``ValidateInputs``, ``ValidateOutputs`` and ``CompareDimsSupported`` in
triton-inference-server/onnxruntime_backend; shapes are lists of int with -1 for a free dimension.
"""

from dataclasses import dataclass
from typing import Any

_FREE = -1
_ONNX_TYPES = {
    "TYPE_BOOL": "tensor(bool)",
    "TYPE_UINT8": "tensor(uint8)",
    "TYPE_INT8": "tensor(int8)",
    "TYPE_INT32": "tensor(int32)",
    "TYPE_INT64": "tensor(int64)",
    "TYPE_FP16": "tensor(float16)",
    "TYPE_FP32": "tensor(float)",
    "TYPE_FP64": "tensor(double)",
}
_SCATTER = "BATCH_SCATTER_WITH_INPUT_SHAPE"


class ConfigError(ValueError):
    """The configuration does not fit the model; the message names both."""


@dataclass(frozen=True)
class TensorInfo:
    """A tensor as the ONNX file declares it, ``kind`` in ONNX Runtime's words: ``tensor(float)``."""

    name: str
    kind: str
    shape: list[int]


@dataclass(frozen=True)
class Plan:
    """What ``execute`` needs to know: which inputs are joined flat, and which input shapes an output."""

    max_batch_size: int
    inputs: list[str]
    ragged: frozenset[str]
    outputs: dict[str, list[int]]
    scatter_by: dict[str, str]


def shape_of(declared: list[Any]) -> list[int]:
    """ONNX Runtime's shape, where a free dimension is a name or None, in Triton's numbers."""
    return [size if isinstance(size, int) else _FREE for size in declared]


def _dims(tensor: dict[str, Any]) -> list[int]:
    source = tensor["reshape"]["shape"] if tensor.get("reshape") else tensor["dims"]
    return [int(size) for size in source]


def _compare(name: str, model: list[int], dims: list[int], max_batch_size: int, exact: bool) -> None:
    if max_batch_size > 0:
        if not model or model[0] != _FREE:
            raise ConfigError(f"'{name}': the first dimension must be free to batch, the model has {model}")
        dims = [_FREE, *dims]
    fits = len(model) == len(dims) and all(
        theirs == ours or (theirs == _FREE and not exact) for theirs, ours in zip(model, dims, strict=True)
    )
    if not fits:
        raise ConfigError(f"'{name}': the model has shape {model}, the configuration says {dims}")


def _check_type(tensor: dict[str, Any], info: TensorInfo) -> None:
    expected = _ONNX_TYPES.get(tensor["data_type"])
    if expected is None:
        raise ConfigError(f"'{info.name}': unsupported datatype {tensor['data_type']}")
    if expected != info.kind:
        raise ConfigError(f"'{info.name}': the model has {info.kind}, the configuration says {tensor['data_type']}")


def _check_input(tensor: dict[str, Any], info: TensorInfo, max_batch_size: int) -> bool:
    """Check one input and tell whether it is ragged."""
    if tensor.get("optional") and max_batch_size > 0:
        raise ConfigError(f"'{info.name}': an optional input is not supported for a model that batches")
    _check_type(tensor, info)
    if tensor.get("allow_ragged_batch"):
        if info.shape != [_FREE]:
            raise ConfigError(f"'{info.name}': a ragged input must have shape [-1], the model has {info.shape}")
        return True
    if info.shape:
        _compare(info.name, info.shape, _dims(tensor), max_batch_size, exact=False)
    return False


def _scatter(config: dict[str, Any], inputs: set[str]) -> dict[str, str]:
    """Output name to the input whose shape cuts it."""
    result = {}
    for entry in config.get("batch_output", []):
        if entry.get("kind") != _SCATTER:
            raise ConfigError(f"batch_output kind {entry.get('kind')} is not supported")
        targets, sources = entry.get("target_name", []), entry.get("source_input", [])
        if len(targets) != 1 or len(sources) != 1:
            raise ConfigError("batch_output needs exactly one target_name and one source_input")
        if sources[0] not in inputs:
            raise ConfigError(f"batch_output names the unknown input '{sources[0]}'")
        result[targets[0]] = sources[0]
    return result


def check(config: dict[str, Any], inputs: list[TensorInfo], outputs: list[TensorInfo]) -> Plan:
    """The plan of a configuration that the C++ backend would load; ``ConfigError`` otherwise."""
    max_batch_size = int(config.get("max_batch_size", 0))
    if config.get("batch_input"):
        raise ConfigError("batch_input is not supported by the stand-in")
    if len(config["input"]) != len(inputs):
        raise ConfigError(f"the configuration has {len(config['input'])} inputs, the model {len(inputs)}")
    model_inputs = {info.name: info for info in inputs}
    model_outputs = {info.name: info for info in outputs}
    ragged = set()
    for tensor in config["input"]:
        if tensor["name"] not in model_inputs:
            raise ConfigError(f"unexpected input '{tensor['name']}', the model has {sorted(model_inputs)}")
        if _check_input(tensor, model_inputs[tensor["name"]], max_batch_size):
            ragged.add(tensor["name"])
    scatter_by = _scatter(config, set(model_inputs))
    unknown = set(scatter_by) - {tensor["name"] for tensor in config["output"]}
    if unknown:
        raise ConfigError(f"batch_output names the unknown output {sorted(unknown)}")
    shapes = {}
    for tensor in config["output"]:
        info = model_outputs.get(tensor["name"])
        if info is None:
            raise ConfigError(f"unexpected output '{tensor['name']}', the model has {sorted(model_outputs)}")
        _check_type(tensor, info)
        if info.name not in scatter_by and info.shape:
            _compare(info.name, info.shape, _dims(tensor), max_batch_size, exact=True)
        shapes[info.name] = _dims(tensor)
    names = [tensor["name"] for tensor in config["input"]]
    return Plan(max_batch_size, names, frozenset(ragged), shapes, scatter_by)
