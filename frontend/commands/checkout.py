"""Commands that need a checkout of Quartet, because an installed package lacks their scripts."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# The module that each is, and what it does.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "compare": ("scripts.compare", "what int8 changes on your own texts (in a checkout)"),
}
_NONE = 2


def add_parsers(commands: Any) -> None:
    """The subcommands, for the list of all; each reads its own arguments."""
    for name, (_, text) in COMMANDS.items():
        commands.add_parser(name, help=text)


def start(command: str, arguments: Sequence[str], root: Path = ROOT) -> int:
    """Become the command's module, in this process's folder; status 2 and a sentence where this is no checkout."""
    module, _ = COMMANDS[command]
    if not root.joinpath(*module.split("."), "__main__.py").is_file():
        print(f"quartet {command} works in a checkout of Quartet, after 'make install'", file=sys.stderr)
        return _NONE
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    os.execve(sys.executable, [sys.executable, "-m", module, *arguments], os.environ | {"PYTHONPATH": path})
