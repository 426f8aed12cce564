"""The packed encoder for processors with its matrix products in int8.

Each token has its own scale, so a text's vector is the same in every batch.
"""

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.onnx_graph import MICROSOFT, Graph, Linear, Weights, column_scales, product, quantise_tokens
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.text.calibration import Calibration
from scripts.export_models.text.encoder import EncoderShape, Packing, query_key_value
from scripts.export_models.text.processor import ProcessorEncoder
from scripts.export_models.text.quantise import Rounding, Smoothing, rounded, smoothing, zero_point

# Groups of the wide feed-forward channels, sorted by size. Each has its own scales, since their sizes differ most.
_GROUPS = 4

Array = NDArray[np.float32]


class Int8Encoder(ProcessorEncoder):
    """Builds an encoder from its weights and the calibration of its linear layers' inputs."""

    def __init__(
        self,
        g: Graph,
        shape: EncoderShape,
        weights: Weights,
        calibration: Calibration,
        progress: Progress = SILENT,
        rounding: Rounding = rounded,
    ) -> None:
        super().__init__(g, shape, weights, progress)
        self._calibration, self._rounded = calibration, rounding

    def _layer(self, x: str, norm: str, name: str, pack: Packing, tokens: str) -> str:
        g = self._g
        attended, x = self._attention(x, norm, name, pack), self._norm(x, norm)
        if tokens:
            attended, x = g.op("Gather", attended, tokens), g.op("Gather", x, tokens)
        return self._feed_forward(g.op("Add", attended, x), f"{name}.attention.output.LayerNorm", name)

    def _attention(self, x: str, norm: str, name: str, pack: Packing) -> str:
        dense = f"{name}.attention.output.dense"
        query, key, value = query_key_value(name)
        output, values = self._linear_of(dense), self._linear_of(value)
        # The weights of attention sum to one, so the value layer can prepare the inputs of the output layer.
        inner = smoothing(self._calibration[dense], output.weight)
        three = [self._linear_of(query), self._linear_of(key), inner.of_outputs(values)]
        # The three share their inputs. An error in the values shows most in the end.
        outer = smoothing(self._calibration[query], values.weight)
        attended = self._attend(self._linears(self._smooth_norm(x, norm, outer), three, query, outer), pack)
        return self._linears(attended, [output], dense, inner)[0]

    def _feed_forward(self, x: str, norm: str, name: str) -> str:
        """Both layers, group by group: the outputs of the first, sorted by absolute maximum, feed the second."""
        g, first, second = self._g, f"{name}.intermediate.dense", f"{name}.output.dense"
        inputs, inner = self._calibration[first], self._calibration[second]
        order = np.argsort(-np.maximum(inner.high, -inner.low))
        smooth = smoothing(inputs, self._linear_of(first).weight)
        wide = smooth.of_inputs(self._linear_of(first)).columns(order)
        scales = column_scales(wide.weight, 1)
        widening = np.split(self._rounded(wide.weight, scales, smooth.hessian(inputs)), _GROUPS, axis=1)
        narrow = self._linear_of(second)
        narrow_scales = column_scales(narrow.weight[order], _GROUPS)
        narrowing = np.split(
            self._rounded(narrow.weight[order], narrow_scales, inner.hessian[np.ix_(order, order)]), _GROUPS
        )
        tokens = quantise_tokens(g, self._smooth_norm(x, norm, smooth), zero_point(smooth.sample(inputs)))
        answer, sample = self._norm(x, norm), inner.sample[:, order]
        for group, channels in enumerate(np.split(np.arange(len(order)), _GROUPS)):
            some = product(g, tokens, widening[group], scales[0, channels])
            active = g.op("Gelu", g.op("Add", some, self._bias(wide.bias[channels])), domain=MICROSOFT)
            part = quantise_tokens(g, active, zero_point(sample[:, channels]))
            answer = g.op("Add", answer, product(g, part, narrowing[group], narrow_scales[group]))
        return g.op("Add", answer, self._bias(narrow.bias))

    def _linears(self, x: str, layers: list[Linear], measured: str, smooth: Smoothing) -> list[str]:
        """``layers`` of equal width on ``x``, which ``smooth`` has prepared.

        ``measured`` is the name of the layer whose inputs were calibrated.
        """
        inputs = self._calibration[measured]
        joined = smooth.of_inputs(Linear.joined(layers))
        scales = column_scales(joined.weight, 1)
        weight = self._rounded(joined.weight, scales, smooth.hessian(inputs))
        tokens = quantise_tokens(self._g, x, zero_point(smooth.sample(inputs)))
        parts = (np.split(array, len(layers), axis=-1) for array in (weight, scales[0], joined.bias))
        return [
            self._g.op("Add", product(self._g, tokens, part, scale), self._bias(bias))
            for part, scale, bias in zip(*parts, strict=True)
        ]

    def _smooth_norm(self, x: str, name: str, smooth: Smoothing) -> str:
        """What ``_norm`` gives, prepared by ``smooth``."""
        weight, bias = (self._weights[f"{name}.{part}"] for part in ("weight", "bias"))
        return self._normalised(x, weight / smooth.scale, (bias - smooth.shift) / smooth.scale)

    def _bias(self, bias: Array) -> str:
        return self._g.weight(bias, "bias")
