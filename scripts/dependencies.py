"""The packages that ``pyproject.toml`` names: their table in ``docs/dependencies.md``, and their newest versions.

make newest    asks the package index, and writes docs/dependencies.toml and docs/dependencies.md
"""

import datetime
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from scripts.benchmark.common.output import head, line
from scripts.install.pip_settings import this_machines

_ROOT = Path(__file__).parents[1]
_PROJECT = _ROOT / "pyproject.toml"
_TOLD = _ROOT / "docs" / "dependencies.toml"
_NEWEST = "[newest]\n"
_COLUMNS = ("package", "newest", "licence", "what it does here", "why this one", "look again when there is")
# Headings, by group of pyproject.toml, if not its name. A package stands in the first of its groups.
_HEADINGS = {
    "dependencies": "The frontend and the command",
    "bulk": "Bulk work with Parquet",
    "ray": "Bulk work on a cluster",
    "install": "Installation",
    "models": "Triton's Python models",
    "gpu": "Triton's image on a GPU",
    "embedded-triton": "The embedded Triton",
    "torch": "PyTorch",
    "export": "The export",
    "images": "Lists of packages",
    "audit": "Audit",
    "manual": "The manual",
    "tests": "Tests",
    "lab": "The lab",
    "clients": "Clients in tests",
}


def plain(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[._-]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    """Versions by plain name in requirements that are for this Python, without PyTorch's ``+cpu``."""
    lines = [line.rstrip(" \\") for line in text.splitlines() if re.match(r"\w", line)]
    wanted = [item for item in map(Requirement, lines) if item.marker is None or item.marker.evaluate()]
    return {plain(item.name): str(item.specifier).removeprefix("==").partition("+")[0] for item in wanted}


def locked(files: Iterable[str | Path]) -> dict[str, str]:
    """Versions by plain name of all packages in locks of the checkout."""
    texts = [(_ROOT / file).read_text(encoding="utf-8") for file in files]
    return {name: version for text in texts for name, version in pins(text).items()}


def named() -> Mapping[str, Mapping[str, str]]:
    """Versions by name and group of ``pyproject.toml``, each package in its first group."""
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))
    groups = {"dependencies": project["project"]["dependencies"], **project["project"]["optional-dependencies"]}
    found: dict[str, dict[str, str]] = {}
    for group, lines in (groups | project["dependency-groups"]).items():
        known = {name for packages in found.values() for name in packages}
        split = [re.sub(r"\[.*\]", "", item).split("==") for item in lines if isinstance(item, str)]
        found[group] = {name: version for name, version in split if name not in known}
    return found


def told() -> Mapping[str, Any]:
    """What ``docs/dependencies.toml`` says of each package, and the newest versions."""
    return tomllib.loads(_TOLD.read_text(encoding="utf-8"))


def _row(name: str, version: str, said: Mapping[str, Any]) -> Sequence[str]:
    newest = said["newest"][name]
    licence, does, why, *again = said["packages"][name]
    return f"{name} {version}", "the same" if newest == version else newest, licence, does, why, *(again or [""])


def table() -> str:
    """The packages by group."""
    said = told()
    parts = [f"Newest versions are those of the package index for Python 3.11 on {said['newest']['asked']}.\n"]
    for group, packages in named().items():
        if rows := [line(_row(name, version, said)) for name, version in packages.items()]:
            parts.append("\n".join((f"## {_HEADINGS.get(group, group)}", "", head(_COLUMNS), *rows, "")))
    return "\n".join(parts)


def main() -> int:
    """Ask the default package index for the newest version of each package, and write them down with the date."""
    names = [name for packages in named().values() for name in packages]
    settings = {**(this_machines(Path(sys.executable)) or {}), **os.environ}
    for other in ("UV_INDEX", "UV_FIND_LINKS", "UV_CONSTRAINT"):
        settings.pop(other, None)
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet", "--no-config", "--no-deps"]
    uv += ["--no-header", "--no-annotate", "--python-version", "3.11", "-"]
    done = subprocess.run(uv, input="\n".join(names), env=settings, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return done.returncode
    found = pins(done.stdout)
    lines = [
        f"asked = {datetime.datetime.now(datetime.UTC).date()}",
        *(f'{name} = "{found[plain(name)]}"' for name in names),
    ]
    text = _TOLD.read_text(encoding="utf-8").partition(_NEWEST)[0]
    _TOLD.write_text("\n".join((f"{text}{_NEWEST.strip()}", *lines, "")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
