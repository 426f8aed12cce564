"""Types of command-line arguments."""

import argparse
from collections.abc import Callable
from typing import TypeVar

from frontend.config.tables import MOST_REQUESTS

_Value = TypeVar("_Value")


def argument(parse: Callable[[str], _Value]) -> Callable[[str], _Value]:
    """An argument type from a function that raises ``ValueError``; argparse shows the message."""

    def parsed(text: str) -> _Value:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


def positive(text: str) -> int:
    """A whole number from 1 to a billion."""
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= MOST_REQUESTS:
        raise argparse.ArgumentTypeError(f"{text!r}: must be an integer from 1 to {MOST_REQUESTS}")
    return int(text)
