"""Stamps: from what and how each model was exported, so that a second export redoes only what changed.

A stamp identifies a checkpoint by its commit or the content of its files; where these lie does not matter.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from frontend.catalogue.added_models import AddedModel
from frontend.catalogue.kokoro import Speaker
from frontend.catalogue.models import ADDED_PREFIX
from frontend.catalogue.voices import KOKORO, TRITON_PREFIX
from scripts.export_models import plan
from scripts.export_models.checkpoints import KOKORO_82M, TOKEN_HEAD
from scripts.export_models.demo.published import PUBLISHED
from scripts.export_models.kokoro.styles import local_file
from scripts.export_models.precisions import text_precisions
from scripts.export_models.sources import Sources

_FILE = "exported.json"
# The sources of added voices and models.
ADDED, OWN = "voices", "models"


@dataclass(frozen=True)
class Stamp:
    """An export of a ``checkpoint`` by a ``version`` of the export; ``precision`` has the precisions to try.

    ``source`` is demo, hub or folder, or voices or models for what is added. ``way`` is how it was exported, ``why``
    what was measured to choose it, ``skipped`` has the ways that failed with the reasons, ``not_checked`` the checks
    that were not made. If no way worked, ``failed`` has the reason. ``voices`` are those that the model speaks, if it
    speaks several; ``without`` has the reason for each other one.
    """

    checkpoint: str = ""
    precision: str = ""
    version: int = 0
    source: str = ""
    way: str = ""
    skipped: list[str] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    failed: str = ""
    voices: list[dict[str, str]] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    why: str = ""

    def of_the_same(self, other: "Stamp") -> bool:
        """Whether both have the same checkpoint, precision and version."""
        return (self.checkpoint, self.precision, self.version) == (other.checkpoint, other.precision, other.version)


class Digests:
    """SHA-256 of files; the file ``memory`` saves reading unchanged files again."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._known: dict[str, list[str]]
        try:
            self._known = json.loads(memory.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._known = {}

    def of(self, path: Path) -> str:
        """The digest of a file, which is read again if its size, times or inode differ."""
        name, status = str(path.resolve()), path.stat()
        state = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
        if self._known.get(name, [""])[0] != state:
            with path.open("rb") as file:
                self._known[name] = [state, hashlib.file_digest(file, "sha256").hexdigest()]
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            self._memory.write_text(json.dumps(self._known), encoding="utf-8")
        return self._known[name][1]


def wanted(
    model: str,
    source: Sources,
    name: str,
    precision: str,
    digests: Digests,
    speakers: Sequence[Speaker] = (),
    own: Mapping[str, AddedModel] = MappingProxyType({}),
) -> Stamp:
    """The stamp that an export of ``model`` will have, from the source of that ``name``; ``own`` are added models."""
    checkpoint = source.checkpoint_of(model)
    if checkpoint is KOKORO_82M:
        return Stamp(_kokoro(speakers, digests), "", plan.version_of(checkpoint), voices=_voices(speakers))
    if added := own.get(model):
        precision = precision if added.precision == "auto" else added.precision
    # For auto, what this processor can counts: what it is fast in is measured when the model is exported.
    text = " ".join([*["auto"] * (precision == "auto"), *text_precisions(precision)])
    precisions = {"text": text, "whisper": precision, "voices": ""}[checkpoint.kind]
    found = _checkpoint(model, source, name, digests)
    if added:
        found = _digest({"checkpoint": found, "pooling": added.pooling, "max_tokens": str(added.max_tokens)})
    return Stamp(found, precisions, plan.version_of(checkpoint), kind_of_source(model, name))


def failed(model: str, reason: str, source: str, speakers: Sequence[Speaker] = ()) -> Stamp:
    """The stamp of a ``model`` that cannot be exported. Kokoro's has no source, because all have the same."""
    if model == KOKORO:
        return Stamp(failed=reason, voices=_voices(speakers))
    return Stamp(source=kind_of_source(model, source), failed=reason)


def kind_of_source(model: str, name: str) -> str:
    """The source in a model's stamp: what is added has one of its own, whatever the ``name`` of the others' is."""
    if model.startswith(ADDED_PREFIX):
        return OWN
    return name if model in plan.CHECKPOINTS else ADDED


def without(made: Stamp, reasons: Mapping[str, str]) -> Stamp:
    """The stamp of a model that lacks voices for these reasons. It has no checkpoint, so that the next export tries."""
    voices = [voice for voice in made.voices if voice["name"] not in reasons]
    return replace(
        made, checkpoint="", voices=voices, without=[f"{name}: {reason}" for name, reason in reasons.items()]
    )


def _voices(speakers: Sequence[Speaker]) -> list[dict[str, str]]:
    voices = [speaker.voice for speaker in speakers]
    return [{"name": voice.name, "language": voice.language, "gender": voice.gender} for voice in voices]


def _kokoro(speakers: Sequence[Speaker], digests: Digests) -> str:
    """A digest of the graph's file and of each voice with its style; a style of the hub is pinned."""
    files = dict(PUBLISHED["kokoro"].sha256)
    for each in speakers:
        path = local_file(each)
        style = digests.of(path) if path else KOKORO_82M.revision
        files[f"{each.voice.name} {each.style} {each.espeak_voice}"] = style
    return _digest(files)


def _checkpoint(model: str, source: Sources, name: str, digests: Digests) -> str:
    """The commit of the hub, or a digest; what is pinned is checked when it is downloaded."""
    checkpoint = source.checkpoint_of(model)
    if checkpoint.revision if checkpoint.own else name == "hub":
        # Exports of earlier versions did not read it.
        head = f" {TOKEN_HEAD}" if TOKEN_HEAD in checkpoint.files else ""
        return f"{checkpoint.repository} {checkpoint.revision}{head}"
    if name == "folder" or checkpoint.own:
        folder = source.fetch(checkpoint)
        return _digest({str(path.relative_to(folder)): digests.of(path) for path in plan.weights_of(model, folder)})
    return _digest(PUBLISHED[checkpoint.kind].sha256)


def _digest(files: Mapping[str, str]) -> str:
    """One digest of files by name and digest."""
    return hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()


def _path(repository: Path, name: str) -> Path:
    return repository / name / "1" / _FILE


def read(repository: Path, name: str) -> Stamp | None:
    """The stamp of a model, or None if none can be read."""
    try:
        return Stamp(**json.loads(_path(repository, name).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write(repository: Path, name: str, stamp: Stamp) -> None:
    _path(repository, name).parent.mkdir(parents=True, exist_ok=True)
    _path(repository, name).unlink(missing_ok=True)
    _path(repository, name).write_text(json.dumps(asdict(stamp), indent=1) + "\n", encoding="utf-8")


def remove(repository: Path, name: str) -> None:
    _path(repository, name).unlink(missing_ok=True)


def missing(repository: Path, names: Iterable[str], source: str) -> list[str]:
    """The models that were not exported from ``source``; a stamp without a source passes."""
    found = {name: read(repository, name) for name in names}
    return [name for name, stamp in found.items() if stamp is None or stamp.failed or stamp.source not in ("", source)]


def added(repository: Path) -> list[str]:
    """The added voices and models in a repository, also those that could not be, and models that are not finished."""
    paths = [path for prefix in (TRITON_PREFIX, ADDED_PREFIX) for path in sorted(repository.glob(f"{prefix}*"))]
    found = {path.name: read(repository, path.name) for path in paths}
    return [
        name
        for name, stamp in found.items()
        if name.startswith(ADDED_PREFIX) or (stamp is not None and stamp.source in (ADDED, OWN))
    ]
