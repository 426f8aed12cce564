"""All checkpoints under the names and in the file layouts of the hub: look-alikes with random weights, or real ones."""

import gc
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from scripts.benchmark.lookalikes import text, voice, whisper
from scripts.benchmark.lookalikes.voice import Quality
from scripts.export_models import space
from scripts.export_models.checkpoints import (
    EMBEDDER,
    RERANKER,
    VOICE_FILES,
    VOICES,
    WHISPER_LARGE,
    WHISPER_TURBO,
    Checkpoint,
    Kind,
    voice_files,
)
from scripts.export_models.demo.voices import VOICES as DEMO_VOICES
from scripts.export_models.demo.voices import config
from scripts.export_models.sources import DemoSource
from scripts.rehearsal.vocabulary import tokenizer

# By the folder's name in Piper's repository.
_QUALITIES = {"x_low": voice.X_LOW, "medium": voice.MEDIUM}
# What a trained attention and head have more of than a random one: a say in the answer, and scores that differ.
_SAY = 4.0
# With less, int8 loses so little of a random encoder that what else is rounded shows.
_GAIN = 2.0
# Files of the hub that no export reads, as long as the real ones where that is much; others are empty objects.
_UNREAD: Mapping[str, bytes] = {
    "sentencepiece.bpe.model": bytes(5_069_051),
    "normalizer.json": b'{"colour": "color"}\n',
    "merges.txt": b"#version: 0.2\n",
}


@dataclass(frozen=True)
class Scale:
    """How large the look-alikes are; text models are as wide as callers are told, and take as long texts, at any.

    With ``real`` both Whispers are base and the voices are the demo's, one of which is a natural one.
    """

    entries: int
    text_layers: int
    whisper_layers: int
    whisper_width: int
    qualities: Mapping[str, Quality]
    real: bool = False


SCALES = {
    "full": Scale(250_002, 24, 32, 1280, _QUALITIES),
    # Whispers take most of the time.
    "texts": Scale(250_002, 24, 2, 256, _QUALITIES),
    "small": Scale(60_002, 2, 2, 256, dict.fromkeys(_QUALITIES, voice.TINY)),
    "real": Scale(60_002, 2, 0, 0, {}, real=True),
}


def write_all(folder: Path, scale: Scale) -> None:
    """Every checkpoint below ``folder``; those that are whole already are left as they are."""
    for checkpoint in (WHISPER_TURBO, WHISPER_LARGE, EMBEDDER, RERANKER, VOICES):
        its = folder / checkpoint.repository
        whole = folder / f"{its.name}.whole"
        if whole.exists():
            continue
        shutil.rmtree(its, ignore_errors=True)
        if scale.real and checkpoint.kind != "text":
            shutil.copytree(DemoSource(space.WORK / "demo").fetch(checkpoint), its)
        else:
            _WRITERS[checkpoint.kind](its, scale, checkpoint)
        for name in checkpoint.files:
            if not (its / name).is_file():
                (its / name).write_bytes(_UNREAD.get(name, b"{}\n"))
        whole.touch()
        gc.collect()


def _write_whisper(folder: Path, scale: Scale, checkpoint: Checkpoint) -> None:
    decoder_layers = whisper.TURBO_LAYERS if checkpoint == WHISPER_TURBO else scale.whisper_layers
    sizes = {"layers": scale.whisper_layers, "width": scale.whisper_width, "decoder_layers": decoder_layers}
    whisper.write(folder, **sizes, gain=_GAIN)


def _write_text(folder: Path, scale: Scale, checkpoint: Checkpoint) -> None:
    """XLM-R of M3's sizes; its weights lie as those of the checkpoint do, in safetensors or in PyTorch's own format."""
    folder.mkdir(parents=True)
    reranker = checkpoint == RERANKER
    tokenizer(scale.entries).save_pretrained(folder)
    model = text.model(scale.text_layers, reranker=reranker, entries=scale.entries)
    with torch.no_grad():
        for layer in model.base_model.encoder.layer:
            layer.attention.output.dense.weight.mul_(_SAY)
        if reranker:
            model.classifier.dense.weight.mul_(_SAY)
            model.classifier.out_proj.weight.mul_(_SAY)
    model.save_pretrained(folder, safe_serialization="model.safetensors" in checkpoint.files)


def _write_voices(folder: Path, scale: Scale, checkpoint: Checkpoint) -> None:
    for demo in DEMO_VOICES:
        path, settings_path = voice_files(folder, demo.name)
        quality, settings = VOICE_FILES[demo.name].split("/")[3], config(demo)
        settings["audio"]["quality"] = quality
        voice.export(path, scale.qualities[quality])
        settings_path.write_text(json.dumps(settings, ensure_ascii=False), encoding="utf-8")


_WRITERS: Mapping[Kind, Callable[[Path, Scale, Checkpoint], None]] = {
    "whisper": _write_whisper,
    "text": _write_text,
    "voices": _write_voices,
}
