"""The packed encoder for processors with its matrix products in integers. A token's scale depends on that token alone,
so a text's vector is the same in any batch.
"""

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.graphs.builder import MICROSOFT, Graph
from scripts.export_models.graphs.linear import Linear, Weights, column_scales, product, quantise_tokens
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.text.calibration import Calibration
from scripts.export_models.text.encoder import EncoderShape, Packing, query_key_value
from scripts.export_models.text.processor import ProcessorEncoder
from scripts.export_models.text.quantise import Smoothing, rounded, smoothing, zero_point

# What the second feed-forward layer is given differs most between channels: each quarter of them has its own scales.
_GROUPS = 4

Array = NDArray[np.float32]


class Int8Encoder(ProcessorEncoder):
    """Builds one encoder from its weights and from what its linear layers are given."""

    def __init__(
        self, g: Graph, shape: EncoderShape, weights: Weights, calibration: Calibration, progress: Progress = SILENT
    ) -> None:
        super().__init__(g, shape, weights, progress)
        self._calibration = calibration

    def _layer(self, x: str, norm: str, name: str, pack: Packing, rows: str) -> str:
        g = self._g
        attended, x = self._attention(x, norm, name, pack)
        if rows:
            attended, x = g.op("Gather", attended, rows), g.op("Gather", x, rows)
        total = g.op("Add", attended, x)
        return self._feed_forward(total, f"{name}.attention.output.LayerNorm", name)

    def _attention(self, x: str, norm: str, name: str, pack: Packing) -> tuple[str, str]:
        """Attention's answer and the normalised ``x``."""
        dense = f"{name}.attention.output.dense"
        query, key, value = query_key_value(name)
        output = self._layer_of(dense)
        # Each row of weights adds up to one, so what is done to the values is done to their weighted mean.
        inner = smoothing(self._calibration[dense], output.weight)
        values = self._layer_of(value)
        three = [self._layer_of(query), self._layer_of(key), inner.giving(values)]
        # They share their input; an error in the values shows most in the end.
        outer = smoothing(self._calibration[query], values.weight)
        attended = self._attend(self._linears(self._smooth_norm(x, norm, outer), three, query, outer), pack)
        return self._linears(attended, [output], dense, inner)[0], self._norm(x, norm)

    def _feed_forward(self, x: str, norm: str, name: str) -> str:
        """Both layers group by group: the first one's outputs are the second one's inputs, sorted by their abs max."""
        g, first, second = self._g, f"{name}.intermediate.dense", f"{name}.output.dense"
        inputs, inner = self._calibration[first], self._calibration[second]
        order = np.argsort(-np.maximum(inner.high, -inner.low))
        smooth = smoothing(inputs, self._layer_of(first).weight)
        wide = smooth.given(self._layer_of(first)).columns(order)
        scales = column_scales(wide.weight, 1)
        widening = np.split(rounded(wide.weight, scales, smooth.hessian(inputs)), _GROUPS, axis=1)
        narrow = self._layer_of(second)
        narrow_scales = column_scales(narrow.weight[order], _GROUPS)
        narrowing = np.split(rounded(narrow.weight[order], narrow_scales, inner.hessian[np.ix_(order, order)]), _GROUPS)
        tokens = quantise_tokens(g, self._smooth_norm(x, norm, smooth), zero_point(smooth.sample(inputs)))
        answer, sample = self._norm(x, norm), inner.sample[:, order]
        for group, channels in enumerate(np.split(np.arange(len(order)), _GROUPS)):
            some = product(g, tokens, widening[group], scales[0, channels])
            active = g.op("Gelu", g.op("Add", some, self._bias(wide.bias[channels])), domain=MICROSOFT)
            part = quantise_tokens(g, active, zero_point(sample[:, channels]))
            answer = g.op("Add", answer, product(g, part, narrowing[group], narrow_scales[group]))
        return g.op("Add", answer, self._bias(narrow.bias))

    def _bias(self, bias: Array) -> str:
        return self._g.weight(bias, "bias")

    def _smooth_norm(self, x: str, name: str, smooth: Smoothing) -> str:
        """What ``_norm`` gives, prepared: one pass more over ``x``, and none over the wider rows of a product."""
        scale = self._weights[f"{name}.weight"] / smooth.scale
        shift = (self._weights[f"{name}.bias"] - smooth.shift) / smooth.scale
        return self._normalised(x, scale, shift)

    def _linears(self, x: str, layers: list[Linear], measured: str, smooth: Smoothing) -> list[str]:
        """``layers`` of equal width, of ``x`` as ``smooth`` prepared it; the calibration has it as ``measured``."""
        inputs = self._calibration[measured]
        prepared = smooth.given(Linear.joined(layers))
        scales = column_scales(prepared.weight, 1)
        weight = rounded(prepared.weight, scales, smooth.hessian(inputs))
        tokens = quantise_tokens(self._g, x, zero_point(smooth.sample(inputs)))
        parts = (np.split(array, len(layers), axis=-1) for array in (weight, scales[0], prepared.bias))
        return [
            self._g.op("Add", product(self._g, tokens, its, scale), self._bias(bias))
            for its, scale, bias in zip(*parts, strict=True)
        ]
