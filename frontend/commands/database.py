"""Runs a command on the database of the settings, at this version's tables."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access.registry import Registry
from frontend.config.settings import Settings
from frontend.database.engine import check_there, open_engine
from frontend.database.migrate import migrate

_Answer = TypeVar("_Answer")


def with_database(settings: Settings, work: Callable[[AsyncEngine], Awaitable[_Answer]]) -> _Answer:
    """Open the database, do ``work``, close it."""

    async def run() -> _Answer:
        engine = open_engine(settings.database)
        try:
            await migrate(engine)
            return await work(engine)
        except asyncio.CancelledError:
            # Who interrupts a command is not to be told what that does to the database's driver.
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
            raise
        finally:
            await engine.dispose()

    return asyncio.run(run())


def run(arguments: argparse.Namespace, settings: Settings) -> None:
    """Do what a command's ``work`` does with the database, and print the lines that it answers.

    In a folder that is not the product's, a relative address would make a database that nobody reads.
    """
    if not getattr(arguments, "create_database", False):
        check_there(settings.database)
    for line in with_database(settings, lambda engine: arguments.work(engine, arguments)):
        print(line)


def with_registry(settings: Settings, work: Callable[[Registry], Awaitable[_Answer]]) -> _Answer:
    """The same for what concerns keys and organisations."""
    return with_database(settings, lambda engine: work(Registry(engine)))
