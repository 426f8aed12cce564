"""The disk that an export takes: what is still to be downloaded, what is written, and what lies about meanwhile."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.export_models import plan
from scripts.export_models.checkpoints import Checkpoint, SourceError, in_words
from scripts.export_models.demo.published import PUBLISHED
from scripts.export_models.sources import Source

# Downloads, logs and intermediate files, where nobody says.
WORK = Path("build/export")
# There each step of each model, and what was compared.
LOG = "export.log"
# Bytes that are written for each byte of a checkpoint's weights at the most, what OpenVINO compiles included: the
# rehearsal of all real models wrote 11.3 GB for 9.6.
_WRITTEN = {"text": 1.0, "whisper": 1.5, "voices": 1.0}
# A Whisper's decoder lies there in float32 while it is converted.
_MEANWHILE = {"text": 0.0, "whisper": 1.2, "voices": 0.0}


@dataclass(frozen=True)
class Need:
    """Bytes that will lie below ``folder``, and ``what`` they are."""

    folder: Path
    size: float
    what: str

    def __str__(self) -> str:
        return f"{in_words(self.size)} of {self.what}"


def sizes(name: str, source: Source, models: Sequence[str]) -> dict[Checkpoint, int]:
    """The bytes of the weights of each checkpoint, which the demo has about as many of as it downloads."""
    found = {}
    for checkpoint in plan.checkpoints_of(models):
        its = [model for model in models if plan.CHECKPOINTS[model] == checkpoint]
        found[checkpoint] = checkpoint.size
        if name == "demo":
            found[checkpoint] = PUBLISHED[checkpoint.kind].download
        elif name == "folder":
            folder = source.fetch(checkpoint)
            found[checkpoint] = sum(path.stat().st_size for model in its for path in plan.weights_of(model, folder))
    return found


def needs(name: str, its: Mapping[Checkpoint, int], work: Path, repository: Path) -> list[Need]:
    """What an export of checkpoints of these ``sizes`` will lay down, and where."""
    found = [
        Need(work, _downloads(name, its, work), "downloads, unpacked" if name == "demo" else "downloads"),
        Need(repository, sum(size * _WRITTEN[each.kind] for each, size in its.items()), "exports"),
        Need(Path(tempfile.gettempdir()), sum(size * _MEANWHILE[each.kind] for each, size in its.items()), "scratch"),
    ]
    return [need for need in found if need.size]


def _downloads(name: str, its: Mapping[Checkpoint, int], work: Path) -> int:
    """What is still to come; what is in the demo's packages takes as much again."""
    if name == "demo":
        kinds = {each.kind for each in its}
        missing = [PUBLISHED[kind] for kind in kinds if not PUBLISHED[kind].lies_in(work / "demo" / kind)]
        return sum(2 * each.download for each in missing)
    if name == "hub":
        return sum(max(0, size - _there(work / "hub" / each.repository)) for each, size in its.items())
    return 0


def _there(folder: Path) -> int:
    """Bytes of the files that have come, or are on their way."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def check(wanted: Sequence[Need]) -> None:
    """``SourceError`` for a disk that has no room for all that is to lie on it."""
    disks: dict[int, list[Need]] = {}
    for need in wanted:
        disks.setdefault(_existing(need.folder).stat().st_dev, []).append(need)
    for its in disks.values():
        size, free = sum(need.size for need in its), shutil.disk_usage(_existing(its[0].folder)).free
        if free < size:
            parts = ", ".join(map(str, its))
            raise SourceError(
                f"{in_words(size)} of disk are needed ({parts}), and that of {its[0].folder.absolute()} has "
                f"{in_words(free)} free"
            )


def _existing(folder: Path) -> Path:
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
