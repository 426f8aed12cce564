"""The voice catalogue of the contract, and each voice's phoneme alphabet and sample rate from its exported files."""

import json
from dataclasses import dataclass
from pathlib import Path

from frontend.text.phonemes import Alphabet


@dataclass(frozen=True)
class CatalogueEntry:
    """A voice as clients know it."""

    name: str
    language: str
    gender: str


CATALOGUE = {
    entry.name: entry
    for entry in (
        CatalogueEntry("paola", "it", "female"),
        CatalogueEntry("riccardo", "it", "male"),
        CatalogueEntry("amy", "en", "female"),
        CatalogueEntry("ryan", "en", "male"),
        CatalogueEntry("thorsten", "de", "male"),
        CatalogueEntry("siwis", "fr", "female"),
    )
}
DEFAULTS_BY_LANGUAGE = {"it": "paola", "en": "amy", "de": "thorsten", "fr": "siwis", "rm": "paola"}


@dataclass(frozen=True)
class Voice:
    """A voice as Triton has it: ``scales`` are noise, length and duration-noise, in Piper's order."""

    entry: CatalogueEntry
    model: str
    alphabet: Alphabet
    sample_rate: int
    scales: tuple[float, float, float]
    multi_speaker: bool

    @classmethod
    def load(cls, entry: CatalogueEntry, repository: Path) -> "Voice":
        """Read ``voice.json``, which is Piper's own ``.onnx.json``; old files leave keys out."""
        model = f"piper_{entry.name}"
        path = repository / model / "1" / "voice.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        inference = settings.get("inference", {})
        return cls(
            entry=entry,
            model=model,
            alphabet=Alphabet(entry.language, settings["espeak"]["voice"], settings["phoneme_id_map"]),
            sample_rate=int(settings["audio"]["sample_rate"]),
            scales=(
                float(inference.get("noise_scale", 0.667)),
                float(inference.get("length_scale", 1.0)),
                float(inference.get("noise_w", 0.8)),
            ),
            multi_speaker=int(settings.get("num_speakers", 1)) > 1,
        )
