"""Added Piper voices, which an operator puts into a folder: ``NAME.onnx``, with ``NAME.onnx.json`` next to it.

Piper's JSON names no gender; ``"gender": "female"`` may be added to it. Only the standard library is needed, because
preflight runs before anything is installed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frontend.catalogue.voices import TRITON_PREFIX, UNKNOWN, VOICES, Voice
from scripts.export_models.checkpoints import SourceError, check_voice, read_json

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_GENDERS = ("female", "male", UNKNOWN)


@dataclass(frozen=True)
class AddedVoices:
    """The ``voices`` of a folder, by Triton model.

    ``faults`` has the reason for each other one, by Triton model, and ``misnamed`` a sentence for each file whose name
    cannot be a voice's.
    """

    voices: Mapping[str, Voice] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    misnamed: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(sorted({**self.voices, **self.faults}))

    @classmethod
    def of(cls, folder: Path | None) -> "AddedVoices":
        """Read the descriptions in a folder. Raises ``SourceError`` if there is no such folder."""
        if folder is None:
            return cls()
        if not folder.is_dir():
            raise SourceError(f"{folder} does not exist; it must hold Piper voices")
        voices, faults, misnamed = dict[str, Voice](), dict[str, str](), list[str]()
        for path in sorted(folder.glob("*.onnx")):
            name = path.name.removesuffix(".onnx")
            if reason := _misnamed(name):
                misnamed.append(f"{path} is left out: {reason}")
                continue
            try:
                check_voice(folder, name)
                voices[f"{TRITON_PREFIX}{name}"] = _voice(name, path.with_name(f"{path.name}.json"))
            except SourceError as error:
                faults[f"{TRITON_PREFIX}{name}"] = str(error)
        return cls(voices, faults, tuple(misnamed))


def _misnamed(name: str) -> str:
    """Why a voice cannot have this name, or empty."""
    if not _NAME.fullmatch(name):
        return "a voice's name has 1 to 40 letters, digits, - and _ of ASCII, and begins with a letter or digit"
    if name.lower() in VOICES:
        return f"there is a voice {name.lower()} already"
    return ""


def _voice(name: str, path: Path) -> Voice:
    settings = read_json(path)
    for table, key in (("audio", "sample_rate"), ("espeak", "voice")):
        if not isinstance(part := settings.get(table), dict) or not part.get(key):
            raise SourceError(f"{path} has no {table}.{key}")
    kind = settings.get("phoneme_type", "espeak")
    if kind != "espeak":
        raise SourceError(f"{path} has the phoneme_type {kind!r}, and only 'espeak' can be served")
    gender = settings.get("gender", UNKNOWN)
    if gender not in _GENDERS:
        raise SourceError(f"{path} has the gender {gender!r}; it must be one of {', '.join(_GENDERS)}")
    return Voice(name, _language(settings, path), gender)


def _language(settings: Mapping[str, Any], path: Path) -> str:
    """The code of the language, as in "en". Old files have only the voice of espeak-ng, as in "en-us"."""
    for table, key in (("language", "family"), ("language", "code"), ("espeak", "voice")):
        part = settings.get(table)
        code = re.split("[-_]", str(part.get(key, "") if isinstance(part, dict) else "").lower())[0]
        if _LANGUAGE.fullmatch(code):
            return code
    raise SourceError(f'{path} names no language, such as {{"language": {{"family": "en"}}}}')
