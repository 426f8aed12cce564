"""quartet gpu-check: the models on this machine's NVIDIA GPU. The checkout has it, since it has the export."""

import subprocess
import sys
from pathlib import Path
from typing import Any

NAME = "gpu-check"
_CHECKOUT = Path(__file__).parents[2]
_MISSING = 2


def add_parsers(commands: Any) -> None:
    """The subcommand, whose arguments are read where they are needed."""
    commands.add_parser(NAME, add_help=False, help="check and measure the models on an NVIDIA GPU, from the checkout")


def run(arguments: list[str], checkout: Path = _CHECKOUT) -> int:
    """The exit status of the checkout's own command, or 2 with a sentence where there is no checkout."""
    if not (checkout / "scripts" / "gpu_check").is_dir():
        print(f"{NAME} is run from Quartet's repository, after 'make install' there", file=sys.stderr)
        return _MISSING
    command = [sys.executable, "-m", "scripts.gpu_check", *arguments]
    return subprocess.run(command, cwd=checkout, check=False).returncode
