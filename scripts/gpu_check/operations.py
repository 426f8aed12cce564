"""Floating-point operations that texts and windows need, by which the share of a card's peak is told.

A product of [m, k] by [k, n] is 2mkn; what is not a product is left out. Padding counts as nothing, so the share falls
with it.
"""

from collections.abc import Iterable

# Of a layer's linear layers, by the square of its width: query, key and value; then output and feed-forward.
_QKV, _REST = 6, 18
# Whisper's numbers: mel bins, frames of a window as they come and behind the second convolution, entries.
_MELS, _FRAMES, _ENCODED, _VOCABULARY = 128, 3000, 1500, 51_866
_DECODER_LAYERS = 4


def of_texts(lengths: Iterable[int], layers: int, width: int) -> float:
    """An encoder over texts of these lengths, whose last layer computes only the first token of each."""
    its = list(lengths)
    attention = layers * sum(4.0 * length**2 * width for length in its)
    linear = layers * _QKV * sum(its) + (layers - 1) * _REST * sum(its) + _REST * len(its)
    return attention + linear * float(width) ** 2


def of_encoding(windows: int, layers: int, width: int) -> float:
    """Windows of 30 s through a Whisper's encoder."""
    square = float(width) ** 2
    convolutions = 2.0 * 3 * _MELS * width * _FRAMES + 2 * 3 * square * _ENCODED
    return windows * (convolutions + layers * (24 * square * _ENCODED + 4.0 * _ENCODED**2 * width))


def of_decoding(windows: int, width: int, tokens: int) -> float:
    """So many tokens for each window through the decoder of turbo, keys and values of the encoder's output included."""
    square = float(width) ** 2
    crossed = _DECODER_LAYERS * 4 * square * _ENCODED
    step = _DECODER_LAYERS * (28 * square + 4.0 * _ENCODED * width) + 2.0 * width * _VOCABULARY
    return windows * (crossed + tokens * step)
