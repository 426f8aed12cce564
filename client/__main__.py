"""The commands that ask a running product: ``quartet bulk`` and ``quartet verify``.

``python -m client`` does the same if the command is not installed.
"""

import argparse
import importlib
import os
import sys

from client.api import CommandError
from frontend.config.proxies import exclude_this_machine

COMMANDS = ("bulk", "verify")
_CANNOT, _INTERRUPTED = 2, 130


def main() -> int:
    """The exit status of the command; 2, with one sentence, if it cannot run."""
    exclude_this_machine(os.environ)
    parser = argparse.ArgumentParser(prog="quartet", description="Commands that ask a running product.")
    commands = parser.add_subparsers(dest="command", required=True)
    # Each command needs packages that the other does not.
    for name in [name for name in COMMANDS if name in sys.argv[1:2]] or COMMANDS:
        importlib.import_module(f"client.{name}.command").add_parser(commands)
    arguments = parser.parse_args()
    try:
        return int(arguments.run(arguments))
    except CommandError as error:
        print(error, file=sys.stderr)
        return _CANNOT
    except OSError as error:
        # For example, a missing file or a full disk.
        print(f"{error.filename}: {error.strerror}" if error.filename else error, file=sys.stderr)
        return _CANNOT
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
