"""What can go wrong: with the whole run, or with one item of it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


class BulkError(Exception):
    """Ends the run; the message is a sentence for the person who began it."""


class ItemError(Exception):
    """One item cannot be done; the others go on."""


class StoppedError(Exception):
    """The run is to end, and what waited does not begin."""


@contextlib.contextmanager
def as_sentence(path: Path) -> Iterator[None]:
    """What the system says of a file or folder, such as a full disk, as ``BulkError``."""
    try:
        yield
    except OSError as error:
        raise BulkError(f"{path}: {error.strerror or error}") from None
