"""Opens the database of keys for one task."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from frontend.administration.registry import Registry
from frontend.commands.database import with_database
from frontend.config.settings import Settings

_Answer = TypeVar("_Answer")


def with_registry(settings: Settings, work: Callable[[Registry], Awaitable[_Answer]]) -> _Answer:
    """Open the database and do ``work`` with its registry."""
    return with_database(settings, lambda engine: work(Registry(engine)))
