"""The disk space that an export needs: for downloads and exports."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.export_models import plan
from scripts.export_models.checkpoints import (
    KOKORO_82M,
    Checkpoint,
    SourceError,
    bytes_in,
    in_words,
)
from scripts.export_models.demo.published import PUBLISHED
from scripts.export_models.sources import Sources

# The default folder of downloads, logs and intermediate files.
WORK = Path("build/export")
# A file in that folder: each step of each model, the output of libraries, and the results of the checks.
LOG = "export.log"
# Written bytes per byte of a checkpoint's weights, with what OpenVINO compiles; all real models wrote 11.3 GB for 9.6.
_WRITTEN = {"text": 1.0, "whisper": 1.5, "voices": 1.0, "kokoro": 4.6}


@dataclass(frozen=True)
class Need:
    """``size`` bytes that will be written below ``folder``, and ``what`` they are."""

    folder: Path
    size: float
    what: str

    def __str__(self) -> str:
        return f"{in_words(self.size)} of {self.what}"


def sizes(name: str, source: Sources, models: Sequence[str]) -> dict[Checkpoint, int]:
    """The bytes of the weights of each checkpoint, or of an export of the demo's. ``name`` is the source's.

    Those of an added checkpoint of the hub are not known.
    """
    found = {}
    for checkpoint in dict.fromkeys(map(source.checkpoint_of, models)):
        found[checkpoint] = checkpoint.size
        if checkpoint is KOKORO_82M or (checkpoint.own and checkpoint.revision):
            continue
        if name == "folder" or checkpoint.own:
            folder = source.fetch(checkpoint)
            files = [plan.weights_of(model, folder) for model in models if source.checkpoint_of(model) == checkpoint]
            found[checkpoint] = sum(path.stat().st_size for paths in files for path in paths)
        elif name == "demo":
            found[checkpoint] = PUBLISHED[checkpoint.kind].size
    return found


def needs(name: str, sizes: Mapping[Checkpoint, int], work: Path, repository: Path) -> list[Need]:
    """What an export of checkpoints of these ``sizes`` will write, and where."""
    written = sum(size * _WRITTEN[checkpoint.kind] for checkpoint, size in sizes.items())
    found = [
        Need(work, _downloads(name, sizes, work), "downloads, unpacked" if name == "demo" else "downloads"),
        Need(repository, written, "exports"),
    ]
    return [need for need in found if need.size]


def _downloads(name: str, sizes: Mapping[Checkpoint, int], work: Path) -> int:
    """Bytes still to be written; packages stay until the model is made of their files, each of about their size."""
    packed = {each.kind for each in sizes if each is KOKORO_82M or (name == "demo" and not each.own)}
    missing = [PUBLISHED[kind] for kind in packed if not PUBLISHED[kind].lies_in(work / "demo" / kind)]
    hub = {each: size for each, size in sizes.items() if name == "hub" and not each.own and each is not KOKORO_82M}
    left = [max(0, size - bytes_in(work / "hub" / each.repository)) for each, size in hub.items()]
    return sum(3 * published.download for published in missing) + sum(left)


def check(needs: Sequence[Need]) -> None:
    """Raise ``SourceError`` if a disk has no room for all that will be written on it."""
    disks: dict[int, list[Need]] = {}
    for need in needs:
        disks.setdefault(_existing(need.folder).stat().st_dev, []).append(need)
    for on_disk in disks.values():
        size, free = sum(need.size for need in on_disk), shutil.disk_usage(_existing(on_disk[0].folder)).free
        if free < size:
            parts = ", ".join(map(str, on_disk))
            raise SourceError(
                f"{in_words(size)} of disk are needed ({parts}), and that of {on_disk[0].folder.absolute()} has "
                f"{in_words(free)} free"
            )


def _existing(folder: Path) -> Path:
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
