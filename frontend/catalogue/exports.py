"""How each model was exported: read from ``exported.json``, which the export writes beside the model's files."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = "exported.json"


@dataclass(frozen=True)
class Export:
    """The ``way`` in which a model was exported, and why each way before it was ``skipped``: ``int8: its reason``.

    Of a model that no way could export, ``failed`` says why. All are empty where nobody wrote down how it was exported.
    """

    way: str = ""
    skipped: tuple[str, ...] = ()
    failed: str = ""

    @property
    def skipped_ways(self) -> tuple[str, ...]:
        """The names of the ways that were skipped, in the order in which they were tried."""
        return tuple(each.partition(": ")[0] for each in self.skipped)


def read_export(repository: Path, model: str) -> Export:
    """The export of a Triton model; empty where there is no file, or one that says something else."""
    try:
        found = json.loads((repository / model / "1" / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Export()
    if not isinstance(found, dict):
        return Export()
    return Export(_text(found.get("way")), _texts(found.get("skipped")), _text(found.get("failed")))


def read_exports(repository: Path, models: Iterable[str]) -> Mapping[str, Export]:
    """The exports of several Triton models, by name."""
    return {model: read_export(repository, model) for model in models}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, value)) if isinstance(value, list) else ()
