"""What each model was exported from and how it was checked, so that a second export redoes only what changed.

A stamp knows content alone: the bytes of the weights, the settings, the versions of the tools, and the code that the
export of one model imports, without comments and docstrings. Where files lie does not matter.
"""

import ast
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

_FILE = "exported.json"
_ROOT = Path(__file__).parents[2]
_PACKAGE = "scripts"


@dataclass(frozen=True)
class Stamp:
    """An export: what it was made of, and what of it nobody checked.

    ``source`` is that of its checkpoint: demo, hub or folder. ``way`` is how it was exported, ``skipped`` which ways
    did not do, and why. Of a model that no way could export, ``failed`` says why.
    """

    fingerprint: str
    not_checked: list[str] = field(default_factory=list)
    source: str = ""
    way: str = ""
    skipped: list[str] = field(default_factory=list)
    failed: str = ""


class Digests:
    """SHA-256 of files; ``memory`` keeps those of files that have not changed since."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._known: dict[str, list[str]]
        try:
            self._known = json.loads(memory.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # It only saves time.
            self._known = {}

    def of(self, path: Path) -> str:
        """The digest of a file, read again where its size, its times or its place on the disk differ."""
        name, status = str(path.resolve()), path.stat()
        state = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
        if self._known.get(name, [""])[0] != state:
            with path.open("rb") as file:
                self._known[name] = [state, hashlib.file_digest(file, "sha256").hexdigest()]
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            self._memory.write_text(json.dumps(self._known), encoding="utf-8")
        return self._known[name][1]


def fingerprint(settings: Mapping[str, str], weights: Mapping[str, str], code: Mapping[str, str]) -> str:
    """One hash of settings, of files by name and digest, and of modules by name and meaning."""
    parts = [sorted(each.items()) for each in (settings, weights, code)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def code_of(module: str, root: Path = _ROOT) -> dict[str, str]:
    """The meaning of ``module`` and of each module of this project that it imports, directly or not, by name."""
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = root.joinpath(*name.split(".")).with_suffix(".py")
        if name in found or not path.is_file():
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        waiting += _imported(tree)
        found[name] = hashlib.sha256(ast.dump(_without_docstrings(tree)).encode()).hexdigest()
    return found


def _imported(tree: ast.Module) -> Iterable[str]:
    """Names that may be modules of this project; what stands behind ``from`` may be one, or in one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == _PACKAGE:
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == _PACKAGE)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return tree


def _path(repository: Path, name: str) -> Path:
    return repository / name / "1" / _FILE


def read(repository: Path, name: str) -> Stamp | None:
    """The stamp of a model, or None where it has none that can be read."""
    try:
        return Stamp(**json.loads(_path(repository, name).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write(repository: Path, name: str, stamp: Stamp) -> None:
    _path(repository, name).parent.mkdir(parents=True, exist_ok=True)
    _path(repository, name).write_text(json.dumps(asdict(stamp), indent=1) + "\n", encoding="utf-8")


def remove(repository: Path, name: str) -> None:
    _path(repository, name).unlink(missing_ok=True)


def missing(repository: Path, names: Iterable[str], source: str) -> list[str]:
    """Those that were not exported from ``source``; a stamp that does not say it is taken for one of it."""
    found = {name: read(repository, name) for name in names}
    return [name for name, its in found.items() if its is None or its.failed or its.source not in ("", source)]
