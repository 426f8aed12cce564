"""Remember what each model was exported from, so that a second start redoes nothing."""

import hashlib
from pathlib import Path

_FILE = "exported.txt"
_HERE = Path(__file__).parent


def fingerprint(source: str, folder: Path | None, precision: str, compute_type: str) -> str:
    """A hash of the choices and of every file that the export depends on."""
    digest = hashlib.sha256(f"{source}|{folder}|{precision}|{compute_type}".encode())
    for path in sorted(_HERE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _path(repository: Path, name: str) -> Path:
    return repository / name / "1" / _FILE


def read(repository: Path, name: str) -> str:
    path = _path(repository, name)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def write(repository: Path, name: str, value: str) -> None:
    _path(repository, name).write_text(value, encoding="utf-8")


def remove(repository: Path, name: str) -> None:
    _path(repository, name).unlink(missing_ok=True)


def forget(repository: Path) -> None:
    """Drop every stamp of the repository."""
    for path in repository.glob(f"*/1/{_FILE}"):
        path.unlink()
