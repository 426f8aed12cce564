"""How each model was exported, from ``exported.json`` in the folder of its files."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_FILE = "exported.json"


@dataclass(frozen=True)
class Export:
    """The ``way`` (precision) in which a model was exported, and why better ones were ``skipped``: ``int8: reason``.

    ``failed`` is the reason if no way worked. ``voices`` are those that the model speaks, each with name, language and
    gender, if it speaks several, and ``why`` is what was measured to choose the way. ``source`` is demo, hub or folder,
    or voices or models for what is added. All are empty without a file.
    """

    way: str = ""
    skipped: tuple[str, ...] = ()
    failed: str = ""
    voices: tuple[Mapping[str, str], ...] = ()
    why: str = ""
    source: str = ""

    @property
    def skipped_ways(self) -> tuple[str, ...]:
        """The names of the skipped ways, in the order in which they were tried."""
        return tuple(each.partition(": ")[0] for each in self.skipped)


def read_export(repository: Path, model: str) -> Export:
    """The export of a Triton model; empty without a valid file."""
    try:
        values = json.loads((repository / model / "1" / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Export()
    texts = values.get("way", ""), tuple(values.get("skipped", ())), values.get("failed", "")
    return Export(*texts, tuple(values.get("voices", ())), values.get("why", ""), values.get("source", ""))


def is_exported(repository: Path, model: str) -> bool:
    """Whether the model was exported, in whatever way."""
    return (repository / model / "1" / _FILE).is_file() and not read_export(repository, model).failed


def read_exports(repository: Path, models: Iterable[str]) -> Mapping[str, Export]:
    """The exports of several Triton models, by name."""
    return {model: read_export(repository, model) for model in models}
