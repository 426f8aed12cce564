"""What is given to the look-alikes: the same texts and windows in every part."""

from collections.abc import Iterator

import numpy as np

from scripts.benchmark.lookalikes.text import WORDS, lengths
from scripts.export_models.whisper.served import recognizer_module
from scripts.gpu_check.sizes import Size

# Texts in one run hold no more tokens than this: their activations fit into 16 GB.
_MOST_TOKENS = 65_536
_LONGEST_MIXED = 500
# Begin and end of a text, and the first word, as the look-alike's tokenizer numbers them.
_BEGIN, _END, _FIRST_WORD = 0, 2, 4
_SAMPLE_RATE, WINDOW_SECONDS = 16_000, 30
_MELS = 128

Ids = list[np.ndarray]


def mixtures(size: Size) -> Iterator[tuple[str, Ids]]:
    """The token ids of each run by what to call its lengths, runs of fewer tokens first."""
    rng = np.random.default_rng(1)
    cases = [(str(tokens), [tokens] * batch) for batch in size.batches for tokens in size.tokens]
    cases += [(f"8 to {_LONGEST_MIXED}", lengths(rng, batch, _LONGEST_MIXED)) for batch in size.mixed]
    for name, its in sorted(cases, key=lambda case: sum(case[1])):
        if sum(its) <= _MOST_TOKENS:
            yield name, [_text(rng, length) for length in its]


def to_compare(size: Size) -> Ids:
    """The token ids of the texts that parity is measured on."""
    rng = np.random.default_rng(2)
    return [_text(rng, length) for length in size.compared]


def _text(rng: np.random.Generator, length: int) -> np.ndarray:
    """A text of the look-alike's words, INT32 [length]."""
    words = rng.integers(_FIRST_WORD, _FIRST_WORD + WORDS, length - 2)
    return np.concatenate([[_BEGIN], words, [_END]]).astype(np.int32)


def windows(count: int) -> np.ndarray:
    """The product's features of different windows of noise that swells: FP32 [count, mel bins, frames]."""
    rng, samples = np.random.default_rng(3), _SAMPLE_RATE * WINDOW_SECONDS
    log_mel = recognizer_module("features").LogMel(_MELS)
    swell = np.sin(np.arange(samples) * (np.pi / _SAMPLE_RATE)) ** 2
    loud = [0.1 * (at + 1) * swell * rng.normal(size=samples) for at in range(count)]
    return np.stack([log_mel(audio.astype(np.float32), samples) for audio in loud])
