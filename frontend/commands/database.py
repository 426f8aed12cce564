"""Open the database in the settings, migrated to this version."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.database.engine import DatabaseUrlError, open_engine
from frontend.database.migrate import MigrationError, migrate
from frontend.errors import InvalidRequest

_Answer = TypeVar("_Answer")


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn errors of the database and its contents into ``SettingsError``, which is printed as one line."""
    try:
        yield
    except DatabaseUrlError as error:
        raise SettingsError(f"QUARTET_DATABASE: {error}") from error
    except (MigrationError, InvalidRequest) as error:
        raise SettingsError(str(error)) from error


def with_database(settings: Settings, work: Callable[[AsyncEngine], Awaitable[_Answer]]) -> _Answer:
    """Open the database, do ``work``, close it."""

    async def run() -> _Answer:
        engine = open_engine(settings.database)
        try:
            await migrate(engine)
            return await work(engine)
        except asyncio.CancelledError:
            # An interrupt should print no errors of the database driver.
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
            raise
        finally:
            await engine.dispose()

    return asyncio.run(run())
