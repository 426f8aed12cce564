"""What ends the process that does it; it imports nothing that a restricted process could not."""

import os


def die(*args: object) -> None:
    os._exit(3)
