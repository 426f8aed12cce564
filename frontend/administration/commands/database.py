"""Runs a command on the database of keys."""

import argparse
from collections.abc import Awaitable, Callable
from typing import TypeVar

from frontend.administration.registry import Registry
from frontend.commands.database import with_database
from frontend.config.settings import Settings
from frontend.database.engine import check_exists

_Answer = TypeVar("_Answer")


def with_registry(settings: Settings, work: Callable[[Registry], Awaitable[_Answer]]) -> _Answer:
    """Open the database and do ``work`` with its registry."""
    return with_database(settings, lambda engine: work(Registry(engine)))


def run(arguments: argparse.Namespace, settings: Settings) -> None:
    """Run a command's ``work`` and print its lines. Raises ``DatabaseUrlError`` if the SQLite file is missing."""
    if not getattr(arguments, "create_database", False):
        check_exists(settings.database)
    for line in with_database(settings, lambda engine: arguments.work(engine, arguments)):
        print(line)
