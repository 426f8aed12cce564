"""Voices that an operator adds: Piper's in a folder, Kokoro's in the table ``[voices]`` of the settings file.

The folder has ``NAME.onnx``, with ``NAME.onnx.json`` next to it. Piper's JSON names no gender; ``"gender": "female"``
may be added to it. Only the standard library is needed, because preflight runs before anything is installed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frontend.catalogue.kokoro import DEMO_SPEAKERS, Speaker, misnamed, speakers_of
from frontend.catalogue.voices import TRITON_PREFIX, UNKNOWN, Voice
from frontend.config import reading
from frontend.config.reading import CONFIG_FILE
from scripts.export_models.checkpoints import SourceError, check_voice, read_json
from scripts.export_models.kokoro.styles import check_style

_LANGUAGE = re.compile(r"[a-z]{2,3}")
_GENDERS = ("female", "male", UNKNOWN)


def speakers(source: str, environ: Mapping[str, str]) -> tuple[Speaker, ...]:
    """The voices of Kokoro: those of the demo, if that is the ``source``, and those of the settings file.

    Raises ``SourceError`` for a file that cannot be read, and for a voice that cannot be.
    """
    own = DEMO_SPEAKERS if source == "demo" else ()
    try:
        added = speakers_of(reading.table(environ, "voices"))
    except reading.SettingsError as error:
        raise SourceError(str(error)) from None
    except ValueError as error:
        raise SourceError(f"{CONFIG_FILE}: {environ.get(CONFIG_FILE)}: voices: {error}") from None
    for speaker in added:
        check_style(speaker)
    return (*own, *added)


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
    def of(cls, folder: Path | None, speakers: Sequence[Speaker] = ()) -> "AddedVoices":
        """Read the descriptions in a folder; the ``speakers`` have their names already.

        Raises ``SourceError`` if there is no such folder.
        """
        taken = {speaker.voice.name.lower() for speaker in speakers}
        if folder is None:
            return cls()
        if not folder.is_dir():
            raise SourceError(f"{folder} does not exist; it must hold Piper voices")
        voices, faults, left_out = dict[str, Voice](), dict[str, str](), list[str]()
        for path in sorted(folder.glob("*.onnx")):
            name = path.name.removesuffix(".onnx")
            if reason := misnamed(name) or (f"there is a voice {name} already" if name.lower() in taken else ""):
                left_out.append(f"{path} is left out: {reason}")
                continue
            try:
                check_voice(folder, name)
                voices[f"{TRITON_PREFIX}{name}"] = _voice(name, path.with_name(f"{path.name}.json"))
            except SourceError as error:
                faults[f"{TRITON_PREFIX}{name}"] = str(error)
        return cls(voices, faults, tuple(left_out))


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
