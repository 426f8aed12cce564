"""Join the tensors of several requests for one run of the model, and cut its outputs apart again."""

from typing import Any

import numpy as np
from model_config import Plan
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def join(plan: Plan, requests: list[Arrays]) -> Arrays:
    """One array an input: ragged ones flat end to end, the others along the batch dimension."""
    joined = {}
    for name in plan.inputs:
        parts = [request[name] for request in requests]
        if name in plan.ragged:
            joined[name] = np.concatenate([part.reshape(-1) for part in parts])
        else:
            joined[name] = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return joined


def _scattered_shape(dims: list[int], source: tuple[int, ...]) -> tuple[int, ...]:
    # As the C++ backend does: a free dimension takes the size that the source input has at the same place.
    return tuple(source[place] if size == -1 else size for place, size in enumerate([-1, *dims]))


def split(plan: Plan, requests: list[Arrays], name: str, output: NDArray[Any]) -> list[NDArray[Any]]:
    """Each request's part of an output; ``ValueError`` when the model returned another number of rows."""
    if name in plan.scatter_by:
        sources = [request[plan.scatter_by[name]].shape for request in requests]
        shapes = [_scattered_shape(plan.outputs[name], source) for source in sources]
    elif plan.max_batch_size == 0:
        return [output]
    else:
        batches = [request[plan.inputs[0]].shape[0] for request in requests]
        shapes = [(batch, *output.shape[1:]) for batch in batches]
    sizes = [int(np.prod(shape)) for shape in shapes]
    if sum(sizes) != output.size:
        raise ValueError(f"output '{name}' has {output.size} elements, the requests want {sum(sizes)}")
    flat = output.reshape(-1)
    ends = np.cumsum(sizes)
    return [flat[end - size : end].reshape(shape) for end, size, shape in zip(ends, sizes, shapes, strict=True)]


def nothing(plan: Plan, dtypes: dict[str, Any]) -> Arrays:
    """The outputs of a request that has an input without elements: none either, where their shape can be so."""
    batch = [1] if plan.max_batch_size else []
    shapes = {name: [*batch, *(max(0, size) for size in dims)] for name, dims in plan.outputs.items()}
    return {name: np.zeros(shape, dtypes[name]) for name, shape in shapes.items()}
