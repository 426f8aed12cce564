"""Migrate the database to this version's tables, once, by the first frontend that starts."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

_SCRIPTS = Path(__file__).parent / "migrations"
# The Postgres advisory lock; any number that nothing else uses.
_LOCK = 7_021_955_313
_ANOTHER = (
    "the database was made by another version of Quartet, whose tables this one cannot read: run that version, or name "
    "a new database in QUARTET_DATABASE"
)


class MigrationError(RuntimeError):
    """The database cannot be migrated to this version. The message says why."""


def newest() -> str:
    """The revision of this version's tables, from the file names of the migrations: ``v0008_tables.py``."""
    return max(path.name[1:5] for path in (_SCRIPTS / "versions").glob("v*.py"))


def _is_newest(connection: Connection) -> bool:
    if not inspect(connection).has_table("alembic_version"):
        return False
    return bool(connection.scalar(text("SELECT version_num FROM alembic_version")) == newest())


def _upgrade(connection: Connection) -> None:
    # Most starts have nothing to do, and the import of Alembic takes long.
    if _is_newest(connection):
        return
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError:
        raise MigrationError(_ANOTHER) from None


async def migrate(engine: AsyncEngine) -> None:
    """Run missing migrations in one transaction. Frontends that start together wait for each other.

    Raises ``MigrationError``.
    """
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_upgrade)
    except (DBAPIError, OSError, TimeoutError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        raise MigrationError(f"the database cannot be used: {cause}") from None
