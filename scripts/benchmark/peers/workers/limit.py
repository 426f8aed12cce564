"""What the machine allows: the matrix products of a model and nothing else, by oneDNN in OpenVINO: <kind> <threads>.

``text``: a task is the list of its texts' token counts, multiplied in blocks of 768 tokens as int8, 24 layers of M3's
width. ``whisper``: a task is the number of windows; turbo's encoder in int8 with attention's products in bfloat16, and
40 steps of its decoder's matrices, a window at a time, which are bound by memory.
"""

import sys

import numpy as np
import openvino
from line_server import serve
from openvino import opset15 as op

_BLOCK, _POSITIONS, _STEPS = 768, 1500, 40
_LEVELS = 256


def _quantised(node: openvino.Output, bound: float) -> openvino.Output:
    low, high = op.constant(np.float32(-bound)), op.constant(np.float32(bound))
    return op.fake_quantize(node, low, high, low, high, _LEVELS).output(0)


def _product(node: openvino.Output, inner: int, outer: int) -> openvino.Output:
    weights = np.random.default_rng(0).integers(-127, 128, (inner, outer), np.int8)
    matrix = op.multiply(op.convert(op.constant(weights), np.float32), op.constant(np.float32(1 / 128)))
    return op.matmul(_quantised(node, 8.0), matrix, False, False).output(0)


def _layers(rows: int, width: int, heads: int, count: int, *, attention: bool) -> openvino.Model:
    """``count`` layers on ``rows`` tokens; attention's two products, of heads of 64 numbers, only where asked for."""
    given = op.parameter([rows, width], np.float32)
    node = given.output(0)
    for _ in range(count):
        mixed = op.variadic_split(_product(node, width, 3 * width), op.constant(1), op.constant([width] * 3))
        node = mixed.output(2)
        if attention:
            parts = [op.reshape(mixed.output(at), op.constant([rows, heads, 64]), False) for at in range(3)]
            query, key, value = (op.transpose(part, op.constant([1, 0, 2])) for part in parts)
            joined = op.transpose(
                op.matmul(op.matmul(query, key, False, True), value, False, False), op.constant([1, 0, 2])
            )
            node = op.reshape(joined, op.constant([rows, width]), False).output(0)
        node = _product(_product(_product(node, width, width), width, 4 * width), 4 * width, width)
    return openvino.Model([op.result(node)], [given], "limit")


def _step(width: int) -> openvino.Model:
    """One token through 4 layers' matrices, cross-attention's two included, and the 51,866 outputs."""
    given = op.parameter([1, width], np.float32)
    node = given.output(0)
    for _ in range(4):
        for inner, outer in ((1, 3), (3, 1), (1, 1), (1, 4), (4, 1)):
            node = _product(node, inner * width, outer * width)
    return openvino.Model([op.result(_product(node, width, 51_866))], [given], "step")


kind, threads = sys.argv[1], sys.argv[2]
options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "bf16"}
core = openvino.Core()


def _request(model: openvino.Model) -> openvino.InferRequest:
    request = core.compile_model(model, "CPU", options).create_infer_request()
    values = np.random.default_rng(1).standard_normal(model.input(0).shape, np.float32)
    request.set_input_tensor(openvino.Tensor(values))
    return request


# What is multiplied, one after the other, for so many units of a task.
if kind == "text":
    units, requests = _BLOCK, [_request(_layers(_BLOCK, 1024, 16, 24, attention=False))]
else:
    units, requests = 1, [_request(_layers(_POSITIONS, 1280, 20, 32, attention=True))]
    requests += [_request(_step(1280))] * _STEPS


def work(task: int) -> None:
    for _ in range(round(task / units)):
        for request in requests:
            request.infer()


serve(work)
