import asyncio
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from frontend.access.paging import EVERYTHING
from frontend.database import migrate as module
from frontend.database.engine import open_engine
from frontend.database.migrate import MigrationError, migrate, newest
from frontend.database.tables import metadata
from frontend.usage.books import Books


async def test_the_migrations_lead_to_the_tables(empty_database: str) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    engine = open_engine(empty_database)
    await migrate(engine)
    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    await engine.dispose()


def test_the_newest_file_of_migrations_is_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(module._SCRIPTS))
    assert newest() == ScriptDirectory.from_config(config).get_current_head()


async def test_frontends_that_start_together_migrate_once(empty_database: str) -> None:
    engines = [open_engine(empty_database) for _ in range(4)]
    await asyncio.gather(*(migrate(engine) for engine in engines))
    async with engines[0].connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM alembic_version"))).scalar() == 1
    for engine in engines:
        await engine.dispose()


async def test_a_database_of_a_newer_version_is_refused(empty_database: str) -> None:
    engine = open_engine(empty_database)
    await migrate(engine)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(MigrationError, match="newer"):
        await migrate(engine)
    await engine.dispose()


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"no database at all" * 100)
    engine = open_engine(f"sqlite:///{tmp_path}/broken")
    with pytest.raises(MigrationError, match="cannot be used"):
        await migrate(engine)
    await engine.dispose()


async def test_a_server_that_is_away_is_refused() -> None:
    engine = open_engine("postgresql://quartet:secret@127.0.0.1:1/quartet")
    with pytest.raises(MigrationError) as refused:
        await migrate(engine)
    assert "secret" not in str(refused.value)
    await engine.dispose()


async def test_what_frontends_held_of_wallets_goes_back(empty_database: str) -> None:
    def before(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(module._SCRIPTS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0006")

    engine = open_engine(empty_database)
    async with engine.begin() as connection:
        await connection.run_sync(before)
        for org, balance in (("acme", 40), ("zenith", 7)):
            await connection.execute(text(f"INSERT INTO orgs (name, created_at) VALUES ('{org}', 0)"))
            await connection.execute(text(f"INSERT INTO wallets VALUES ('{org}', {balance}, 'one')"))
        await connection.execute(text("INSERT INTO wallet_leases VALUES ('one', 'acme', 50), ('two', 'acme', 10)"))
        await connection.execute(text("INSERT INTO topups VALUES ('invoice', 'acme', 100, 0)"))
    await migrate(engine)
    assert await Books(engine).balances() == {"acme": 100, "zenith": 7}
    assert [each.amount for each in await Books(engine).top_ups("acme", EVERYTHING)] == [100]
    await engine.dispose()
