"""Brings the database to the tables of this version, once, whoever starts first."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

_SCRIPTS = Path(__file__).parent / "migrations"
# Any number will do, as long as nothing else in the database locks the same.
_LOCK = 7_021_955_313


class MigrationError(RuntimeError):
    """The database cannot be brought to this version; the message says why."""


def _upgrade(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


async def migrate(engine: AsyncEngine) -> None:
    """Run what is missing, in one transaction; frontends that start together wait for each other."""
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_upgrade)
    except CommandError:
        raise MigrationError("the database belongs to a newer version of Quartet") from None
    except (DBAPIError, OSError, TimeoutError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        raise MigrationError(f"the database cannot be used: {cause}") from None
