"""A Piper voice with random weights: VITS without its duration predictor (Kim et al. 2021).

Encoder, flow and HiFi-GAN decoder have the layers of Piper's voices, and few channels. All phoneme ids last equally
long, so that a text always has the same length.
"""

from pathlib import Path

import torch
from torch import Tensor, nn

# Channels of the encoder and flow, of the encoder's inner layers, and of the decoder's first.
_WIDTH, _INNER, _DECODER = 32, 64, 64
_SYMBOLS, _HEADS, _LAYERS = 256, 2, 6
_COUPLINGS, _FLOW_LAYERS, _FLOW_KERNEL = 4, 4, 5
_UPSAMPLING = ((8, 16), (8, 16), (4, 8))
_RESIDUAL = ((3, (1, 2)), (5, (2, 6)), (7, (3, 12)))
_SLOPE = 0.1
# Two ids a phoneme and about 15 phonemes a second, at 22,050 Hz and 256 samples a frame.
_FRAMES_AN_ID = 3


class _EncoderLayer(nn.Module):
    """Attention and a feed-forward of convolutions."""

    def __init__(self) -> None:
        super().__init__()
        width, inner = _WIDTH, _INNER
        self.joined, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Conv1d(width, inner, 3, padding=1), nn.Conv1d(inner, width, 3, padding=1)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.view(1, -1, _HEADS, part.shape[2] // _HEADS).transpose(1, 2) for part in self.joined(x).chunk(3, dim=2)
        )
        attended = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = self.first(x + self.output(attended))
        inner = torch.relu(self.wide(x.transpose(1, 2)))
        return self.second(x + self.narrow(inner).transpose(1, 2))


class _Wave(nn.Module):
    """WaveNet's gated layers, for the couplings of the flow."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.wide = nn.ModuleList(
            nn.Conv1d(width, 2 * width, _FLOW_KERNEL, padding=_FLOW_KERNEL // 2) for _ in range(_FLOW_LAYERS)
        )
        self.narrow = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in range(_FLOW_LAYERS))

    def forward(self, x: Tensor) -> Tensor:
        answer = torch.zeros_like(x)
        for wide, narrow in zip(self.wide, self.narrow, strict=True):
            left, right = wide(x).chunk(2, dim=1)
            rest, skip = narrow(torch.tanh(left) * torch.sigmoid(right)).chunk(2, dim=1)
            x, answer = x + rest, answer + skip
        return answer


class _Coupling(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.wave = nn.Conv1d(width // 2, width, 1), _Wave(width)
        self.after = nn.Conv1d(width, width // 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept, moved = x.chunk(2, dim=1)
        return torch.cat([moved - self.after(self.wave(self.before(kept))), kept], dim=1)


class _Residual(nn.Module):
    """HiFi-GAN's second kind of residual block."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv1d(channels, channels, kernel, dilation=step, padding=step * (kernel - 1) // 2) for step in dilations
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(nn.functional.leaky_relu(x, _SLOPE))
        return x


class _UpsamplingStage(nn.Module):
    """One upsampling of the decoder, from ``channels`` to half as many."""

    def __init__(self, channels: int, rate: int, kernel: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose1d(channels, channels // 2, kernel, rate, (kernel - rate) // 2)
        self.blocks = nn.ModuleList(_Residual(channels // 2, size, steps) for size, steps in _RESIDUAL)

    def forward(self, x: Tensor) -> Tensor:
        x = self.up(nn.functional.leaky_relu(x, _SLOPE))
        first, *others = (block(x) for block in self.blocks)
        for other in others:
            first = first + other
        return first / len(self.blocks)


class _Decoder(nn.Sequential):
    """HiFi-GAN: frames [1, width, frames] to samples [1, 1, samples]."""

    def __init__(self) -> None:
        widths = [_DECODER >> step for step in range(len(_UPSAMPLING) + 1)]
        stages = (_UpsamplingStage(width, *step) for width, step in zip(widths, _UPSAMPLING, strict=False))
        last = nn.Conv1d(widths[-1], 1, 7, padding=3)
        super().__init__(nn.Conv1d(_WIDTH, widths[0], 7, padding=3), *stages, nn.LeakyReLU(), last, nn.Tanh())


class Vits(nn.Module):
    """Phoneme ids INT64 [1, ids] to samples FP32 [1, 1, 1, samples], with the inputs of Piper's files."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        width = _WIDTH
        self.words = nn.Embedding(_SYMBOLS, width)
        self.encoder = nn.Sequential(*(_EncoderLayer() for _ in range(_LAYERS)))
        self.project = nn.Conv1d(width, 2 * width, 1)
        self.flow = nn.ModuleList(_Coupling(width) for _ in range(_COUPLINGS))
        self.decoder = _Decoder()

    def forward(self, ids: Tensor, lengths: Tensor, scales: Tensor) -> Tensor:
        hidden = self.encoder(self.words(ids)).transpose(1, 2)
        mean, deviation = self.project(hidden).repeat_interleave(_FRAMES_AN_ID, dim=2).chunk(2, dim=1)
        x = mean + torch.randn_like(mean) * torch.exp(deviation) * scales[0]
        for coupling in self.flow:
            x = coupling(x)
        # Use all inputs, or the exporter would remove those that only affect the lengths of a real voice.
        unused = 0 * (lengths.sum() + scales[1] + scales[2])
        return self.decoder(x).unsqueeze(1) + unused


def write(path: Path) -> None:
    """Write the ``.onnx`` file of a voice."""
    path.parent.mkdir(parents=True, exist_ok=True)
    example = (torch.ones(1, 20, dtype=torch.int64), torch.tensor([20]), torch.tensor([0.667, 1.0, 0.8]))
    torch.onnx.export(
        Vits().eval(),
        example,
        str(path),
        input_names=["input", "input_lengths", "scales"],
        output_names=["output"],
        dynamic_axes={
            "input": {0: "batch", 1: "ids"},
            "input_lengths": {0: "batch"},
            "output": {0: "batch", 3: "time"},
        },
        opset_version=17,
        dynamo=False,
    )
