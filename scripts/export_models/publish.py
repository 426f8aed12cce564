"""Export the models into a folder that nobody reads before it is complete; the entry point of the export's image.

    python -m scripts.export_models.publish --name current --source demo

    /models/current -> exports/3f9c0a1b22d4
    /models/exports/3f9c0a1b22d4/m3_embedder/1/model.onnx

Triton and the frontends read through the link. Each of them sees one whole export, also while the next one is written.
The folder is named by a digest of its code, configurations and stamps, so an export that changes nothing is not another
one. The export before stays, so going back only moves the link.

Where QUARTET_TRITON_SECRET_FILE names a file that is missing, a secret is written there for Triton and the frontends.
"""

import argparse
import fcntl
import filecmp
import hashlib
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from frontend.catalogue.added_models import DESCRIPTION
from frontend.catalogue.models import ADDED_PREFIX
from scripts.export_models import space, stamp
from scripts.export_models.checkpoints import SourceError, bytes_in, full_disk_in_words
from scripts.export_models.plan import ALL_MODELS, NONE_LEFT, SOME_FAILED
from scripts.run.model_configs import with_tensors

# Code, configurations, stamps and what is said of added models. A stamp names the checkpoint and the precision of the
# weights next to it.
_IDENTIFYING = (".py", ".pbtxt", "exported.json", DESCRIPTION)
_KEPT_EXPORTS = 2
# Bytes of a file from which two exports share it. Smaller ones, and texts of any size, may be written in place.
_SHARED = 1_000_000
_TEXTS = (".json", ".pbtxt", ".py")


class Exports:
    """The exports in the folder ``models``; the link ``name`` selects one."""

    def __init__(self, models: Path, name: str) -> None:
        self._all = models / "exports"
        self._link = models / name
        self._building = models / f".building-{name}"

    def newest_first(self) -> list[Path]:
        """All exports; the one that was selected last comes first."""
        return sorted(self._all.glob("*"), key=lambda export: export.stat().st_mtime_ns, reverse=True)

    def begin(self, code: Path) -> Path:
        """The folder to export into: what is left of an interrupted export, or the newest one's files.

        Models that did not change need no new export then, and their files no more room: both have hard links to them,
        where the file system has such links. ``code`` is the model repository without weights.
        """
        if not self._building.exists():
            copying = self._building.with_suffix(".copying")
            shutil.rmtree(copying, ignore_errors=True)
            copying.mkdir(parents=True)
            if before := self.newest_first():
                _take_over(before[0], copying)
            copying.rename(self._building)
        replace_code(code, self._building)
        return self._building

    def finish(self) -> Path:
        """Make an export of the finished folder."""
        self._all.mkdir(exist_ok=True)
        export = self._all / _digest(self._building)
        if export.exists():
            shutil.rmtree(self._building)
        else:
            self._building.rename(export)
        return export

    def select(self, export: Path) -> None:
        """Point the link to an export. Remove all but those selected last, and exports that were never finished."""
        os.utime(export)
        link = self._link.with_suffix(".new")
        link.unlink(missing_ok=True)
        link.symlink_to(export.relative_to(self._link.parent))
        link.replace(self._link)
        for old in self.newest_first()[_KEPT_EXPORTS:]:
            shutil.rmtree(old)
        for abandoned in self._link.parent.glob(".building-*"):
            shutil.rmtree(abandoned)
        for other in self._link.parent.iterdir():
            if other.is_symlink() and not other.exists():
                other.unlink()


def _take_over(export: Path, folder: Path) -> None:
    """Put the files of an export into an empty folder: large ones as hard links, or as copies where there are none.

    Raises ``SourceError`` if the disk has no room for copies.
    """
    try:
        shutil.copytree(export, folder, symlinks=True, copy_function=_link_large, dirs_exist_ok=True)
    except shutil.Error:
        shutil.rmtree(folder)
        space.check([space.Need(folder.parent, bytes_in(export), "a copy of the export before")])
        try:
            shutil.copytree(export, folder, symlinks=True)
        except shutil.Error as error:
            raise SourceError(f"{export} cannot be copied: {error.args[0][0][2]}") from error


def _link_large(source: str, target: str) -> None:
    if os.stat(source).st_size >= _SHARED and not source.endswith(_TEXTS):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def has_code(code: Path, repository: Path) -> bool:
    """Whether all files of ``code`` are in the repository, apart from tensors that an export writes."""
    return all(_is_in(repository, path, code) for path in _files_of_code(code))


def _is_in(repository: Path, path: Path, code: Path) -> bool:
    target = repository / path
    if _is_generated(path):
        return not target.exists() or _generated(code, path, target) == target.read_text(encoding="utf-8")
    return target.is_file() and filecmp.cmp(code / path, target, shallow=False)


def _generated(code: Path, path: Path, target: Path) -> str:
    """The configuration of ``code`` with the tensors of the exported one."""
    return with_tensors(code / path, target.read_text(encoding="utf-8"))


def replace_code(code: Path, repository: Path) -> None:
    """Put the files of ``code`` into the repository, and remove models that there are no longer.

    Added voices and models stay; the export removes those that are added no longer, and makes the configurations of
    models again of those here.
    """
    added = stamp.added(repository)
    for path in repository.glob(f"{ADDED_PREFIX}*/**/*.pbtxt"):
        path.unlink()
    for model in repository.iterdir():
        if model.name not in ALL_MODELS and model.name not in added:
            shutil.rmtree(model)
    for path in _files_of_code(code):
        target = repository / path
        generated = _generated(code, path, target) if target.exists() and _is_generated(path) else None
        target.parent.mkdir(parents=True, exist_ok=True)
        # The export before may have the same file.
        target.unlink(missing_ok=True)
        if generated is None:
            shutil.copy(code / path, target, follow_symlinks=False)
        else:
            target.write_text(generated, encoding="utf-8")


def _is_generated(path: Path) -> bool:
    """The export of a voice writes the tensors of its configuration, by the shapes of its graph."""
    return path.parts[0].startswith("piper_") and path.name == "config.pbtxt"


def _files_of_code(code: Path) -> list[Path]:
    """A checkout may also have configurations of added voices, which are not its own."""
    return [path for path in _files(code) if path.parts[0] in ALL_MODELS]


def _files(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.glob("*/**/*") if path.is_file())


def _digest(repository: Path) -> str:
    digest = hashlib.sha256()
    for path in _files(repository):
        if path.name.endswith(_IDENTIFYING):
            digest.update(f"{path}\0".encode() + (repository / path).read_bytes())
    return digest.hexdigest()[:12]


def make_secret(path: Path) -> None:
    """Write a random secret, unless there is one. Its readers are other users, in containers with the same volume."""
    if not path.exists():
        new = path.with_suffix(".new")
        new.write_text(secrets.token_hex(16), encoding="utf-8")
        new.chmod(0o444)
        new.replace(path)


@contextmanager
def alone(models: Path) -> Iterator[None]:
    """Wait until no other export writes into the folder, where its file system has locks."""
    models.mkdir(parents=True, exist_ok=True)
    with (models / ".lock").open("w") as file:
        with suppress(OSError):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(f"another export writes into {models}; this one begins when that has ended", flush=True)
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Export the models and select the export.", allow_abbrev=False)
    parser.add_argument("--name", default="current", help="the link to the export")
    parser.add_argument("--models", type=Path, default=Path("/models"), help="the folder of exports")
    parser.add_argument("--code", type=Path, default=Path("model_repository"), help="code and configurations")
    parser.add_argument("--strict", action="store_true")
    options, rest = parser.parse_known_args(arguments)
    try:
        with full_disk_in_words(), alone(options.models):
            return _published(options, rest)
    except SourceError as error:
        print(f"export stopped: {error}", file=sys.stderr)
        return NONE_LEFT


def _published(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Export if something has changed, and select the export; return the exit status."""
    if secret := os.environ.get("QUARTET_TRITON_SECRET_FILE"):
        make_secret(Path(secret))
    export = [sys.executable, "-m", "scripts.export_models", *rest, *["--strict"] * options.strict]
    exports = Exports(options.models, options.name)
    for found in exports.newest_first():
        if has_code(options.code, found) and not _run(export, found, "--stale"):
            break
    else:
        status = _run(export, exports.begin(options.code))
        if status not in (0, SOME_FAILED) or (status and options.strict):
            return status
        found = exports.finish()
    exports.select(found)
    print(f"{options.models / options.name} is {found.name}")
    return 0


def _run(export: Sequence[str], repository: Path, *more: str) -> int:
    return subprocess.run([*export, "--repository", str(repository), *more], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
