"""Loads the engine of an export."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    """OpenVINO's for graphs, else CTranslate2's. A library takes 100 MB of memory, and an image may have only one."""
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
            frames=round(settings["window_seconds"] / SECONDS_PER_FRAME),
        )
    from ctranslate_engine import CTranslateEngine

    return CTranslateEngine(
        folder,
        tokens,
        beam_size,
        device=device,
        device_index=device_index,
        compute_type=compute_type,
        threads=threads,
    )
