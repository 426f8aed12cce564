"""Commands that need a checkout of Quartet. An installed package lacks their scripts."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# The module and the help of each command.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "compare": ("scripts.compare", "what int8 changes on your own texts (in a checkout)"),
}
_NO_CHECKOUT = 2  # exit status


def add_parsers(commands: Any) -> None:
    """List the commands in the help. Each parses its own arguments."""
    for name, (_, text) in COMMANDS.items():
        commands.add_parser(name, help=text)


def start(command: str, arguments: Sequence[str], root: Path = ROOT) -> int:
    """Replace this process by the command's module. Without a checkout, print an error and return 2."""
    module, _ = COMMANDS[command]
    if not root.joinpath(*module.split("."), "__main__.py").is_file():
        print(f"quartet {command} works in a checkout of Quartet, after 'make install'", file=sys.stderr)
        return _NO_CHECKOUT
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    os.execve(sys.executable, [sys.executable, "-m", module, *arguments], os.environ | {"PYTHONPATH": path})
