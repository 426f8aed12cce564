import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from frontend.database.engine import open_engine
from tests.samples import Change


async def test_every_statement_is_timed_and_every_failure_counted(empty_database: str) -> None:
    engine = open_engine(empty_database)
    answered, failed = Change("quartet_database_seconds_count"), Change("quartet_database_errors_total")
    async with engine.connect() as connection:
        # It begins a transaction.
        await connection.execute(text("SELECT 1"))
        before = answered.by
        for _ in range(3):
            await connection.execute(text("SELECT 1"))
        assert (answered.by - before, failed.by) == (3, 0)
        with pytest.raises(SQLAlchemyError):
            await connection.execute(text("SELECT nothing FROM nowhere"))
        assert (answered.by - before, failed.by) == (3, 1)
    await engine.dispose()


async def test_a_database_that_is_away_is_a_failure() -> None:
    engine, failed = open_engine("postgresql://a:b@127.0.0.1:1/none"), Change("quartet_database_errors_total")
    with pytest.raises((SQLAlchemyError, OSError)):
        async with engine.connect():
            pass
    assert failed.by == 1
    await engine.dispose()
