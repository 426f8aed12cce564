"""Loads the engine of an export."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from engines import SECONDS_PER_FRAME, Engine
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
            frames=_frames(settings),
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
    run_once(engine, tokens, settings)
    return engine


def run_once(engine: Engine, tokens: Tokens, settings: Mapping[str, Any]) -> None:
    """Run each part once: a GPU's first run compiles or loads code for seconds, and no caller should wait for it."""
    windows = engine.encode(np.zeros((1, int(settings["mel_bins"]), 2 * _frames(settings)), np.float32))
    if len(tokens.languages) > 1:
        engine.languages(windows)
    task = tokens.task(tokens.language_of(tokens.languages[0]))
    decoded = engine.decode(windows, [task], 1, 0.0, [None])
    engine.align(windows, task, decoded, [1.0])


def _frames(settings: Mapping[str, Any]) -> int:
    """The encoder's frames for the longest window."""
    return round(float(settings["window_seconds"]) / SECONDS_PER_FRAME)
