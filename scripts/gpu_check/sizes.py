"""How much is measured: the real sizes for a GPU, small ones to rehearse on a processor."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Layers of the look-alikes, what is run through them, and how often.

    ``batches`` are texts in a run and ``tokens`` the length of each; ``mixed`` are runs of texts of mixed lengths, and
    ``compared`` the lengths that parity is measured on. ``windows`` are those of 30 s in a run of Whisper, and
    ``spoken`` the recordings of each language that its parity is measured on. ``product`` is the edge of the
    matrices that the card's peak is measured by.
    """

    layers: int
    batches: tuple[int, ...]
    tokens: tuple[int, ...]
    mixed: tuple[int, ...]
    compared: tuple[int, ...]
    whisper_layers: int
    whisper_width: int
    windows: tuple[int, ...]
    spoken: int
    runs: int
    product: int


SIZES = {
    "full": Size(
        layers=24,
        batches=(1, 8, 32),
        tokens=(16, 128, 512, 2048, 8192),
        mixed=(32, 128),
        compared=(3, 16, 60, 129, 500, 2048, 8192),
        whisper_layers=32,
        whisper_width=1280,
        windows=(1, 2, 4, 8, 16),
        spoken=4,
        runs=5,
        product=8192,
    ),
    "small": Size(
        layers=2,
        batches=(1, 4),
        tokens=(16, 64),
        mixed=(4,),
        compared=(3, 16, 129),
        whisper_layers=1,
        whisper_width=64,
        windows=(1, 2),
        spoken=1,
        runs=2,
        product=512,
    ),
}
