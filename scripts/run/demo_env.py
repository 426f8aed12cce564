"""``demo.env``: where a running Quartet answers and what opens it, for shells and for the next start."""

import shlex
from collections.abc import Mapping
from pathlib import Path

FILE = "demo.env"


def write(path: Path, values: Mapping[str, str]) -> None:
    """Write the file for a shell to source. Only its owner can read it, since it has the keys."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items()), encoding="utf-8")


def read(path: Path) -> dict[str, str]:
    """The values written; empty before the first complete start."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return dict(line.split("=", 1) for line in shlex.split(text))
