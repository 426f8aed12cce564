"""Reject what Triton's C++ ONNX Runtime backend rejects, so that a voice which loads here loads there too.

The rules are those of ``ValidateInputs``, ``ValidateOutputs`` and ``CompareDimsSupported`` in
triton-inference-server/onnxruntime_backend, for models without batches. A shape is a list of sizes; -1 means any size.
"""

from dataclasses import dataclass
from typing import Any

_ANY = -1
_ONNX_TYPES = {"TYPE_INT64": "tensor(int64)", "TYPE_FP32": "tensor(float)"}


class ConfigError(ValueError):
    """The configuration does not fit the model. The message names both."""


@dataclass(frozen=True)
class TensorInfo:
    """A tensor as the ONNX file declares it. ``kind`` is ONNX Runtime's name of the type, such as ``tensor(float)``."""

    name: str
    kind: str
    shape: list[int]


def shape_of(declared: list[Any]) -> list[int]:
    """The shape from ONNX Runtime's, in which a name or None means any size."""
    return [size if isinstance(size, int) else _ANY for size in declared]


def check(config: dict[str, Any], inputs: list[TensorInfo], outputs: list[TensorInfo]) -> None:
    """Raise ``ConfigError`` if the C++ backend would not load the model, or if the model has batches."""
    if int(config.get("max_batch_size", 0)):
        raise ConfigError("max_batch_size must be 0: voices alone run on this backend")
    if len(config["input"]) != len(inputs):
        raise ConfigError(f"the configuration has {len(config['input'])} inputs, the model {len(inputs)}")
    # A configuration may fix the size of an input, but not that of an output.
    for tensor in config["input"]:
        _check_tensor("input", tensor, inputs, fixes_sizes=True)
    for tensor in config["output"]:
        _check_tensor("output", tensor, outputs, fixes_sizes=False)


def _check_tensor(side: str, tensor: dict[str, Any], infos: list[TensorInfo], *, fixes_sizes: bool) -> None:
    name, kind, dims = tensor["name"], tensor["data_type"], [int(size) for size in tensor["dims"]]
    info = next((info for info in infos if info.name == name), None)
    if info is None:
        raise ConfigError(f"unexpected {side} '{name}', the model has {sorted(info.name for info in infos)}")
    if kind not in _ONNX_TYPES:
        raise ConfigError(f"'{name}': unsupported datatype {kind}")
    if _ONNX_TYPES[kind] != info.kind:
        raise ConfigError(f"'{name}': the model has {info.kind}, the configuration says {kind}")
    fits = len(info.shape) == len(dims) and all(
        theirs == ours or (theirs == _ANY and fixes_sizes) for theirs, ours in zip(info.shape, dims, strict=True)
    )
    if info.shape and not fits:
        raise ConfigError(f"'{name}': the model has shape {info.shape}, the configuration says {dims}")
