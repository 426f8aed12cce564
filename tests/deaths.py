"""A task that ends its process. This module imports only what restricted processes may import."""

import os


def die(*args: object) -> None:
    os._exit(3)
