"""How many machines a number of users needs: python -m scripts.capacity plan --users 1e6

``plan`` is a formula and takes milliseconds; the others simulate, or measure this machine. ``--help`` of each says what
can be told it; docs/capacity.md says what they mean.
"""

import logging
import sys
import time

from scripts.capacity.options import parser


def main() -> None:
    given, began = parser().parse_args(), time.perf_counter()
    # What becomes of simulated Tritons is no news.
    logging.disable()
    # Imported here, so that --help is there at once.
    from scripts.capacity import commands

    commands.COMMANDS[given.command](given)
    print(f"\n{time.perf_counter() - began:.3g} s", file=sys.stderr)


if __name__ == "__main__":
    main()
