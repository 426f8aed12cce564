"""Loads the engine of an export."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from engines import SECONDS_PER_FRAME, Engine, Float
from tokens import Tokens


def load_engine(
    folder: Path,
    settings: Mapping[str, Any],
    tokens: Tokens,
    *,
    device: str,
    device_index: int,
    compute_type: str,
    threads: int,
    beam_size: int,
) -> Engine:
    """OpenVINO's for graphs, else CTranslate2's, after a first run of each part.

    A library takes 100 MB of memory, and an image may have only one.
    """
    frames = round(settings["window_seconds"] / SECONDS_PER_FRAME)
    if flags := settings.get("processor_flags"):
        from openvino_engine import OpenVinoEngine

        if device != "cpu":
            raise ValueError(f"{folder} was exported for processors: export it with --precision fp16")
        return OpenVinoEngine(
            folder,
            tokens,
            beam_size,
            heads=settings["alignment_heads"],
            flags=flags,
            threads=threads,
            frames=frames,
        )
    from ctranslate_engine import CTranslateEngine

    engine = CTranslateEngine(
        folder,
        tokens,
        beam_size,
        device=device,
        device_index=device_index,
        compute_type=compute_type,
        threads=threads,
    )
    _warm(engine, tokens, np.zeros((1, int(settings["mel_bins"]), 2 * frames), np.float32))
    return engine


def _warm(engine: Engine, tokens: Tokens, silence: Float) -> None:
    """Run each part once: a GPU's first run compiles or loads code for seconds, and no caller should wait for it."""
    windows = engine.encode(silence)
    engine.languages(windows)
    task = tokens.task(tokens.language_of(tokens.languages[0]))
    decoded = engine.decode(windows, [task], 1, 0.0, [None])
    engine.align(windows, task, decoded, [1.0])
