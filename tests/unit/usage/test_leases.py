from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.usage import leases
from frontend.usage.books import Books


async def test_what_was_wanted_and_has_come_is_wanted_no_more(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    async with engine.begin() as connection:
        await leases.take(connection, "holder", "acme", 50)
        await leases.take(connection, "other", "acme", 5)
        await leases.take(connection, "other", "acme", 85)
        wanted = [await leases.wanted(connection, name) for name in ("holder", "other")]
        await leases.give_back(connection, "holder", "acme", 10)
        await leases.take(connection, "other", "acme", 85)
        wanted.append(await leases.wanted(connection, "holder"))
    assert wanted == [["acme"], [], []]


async def test_to_keep_more_than_there_is_takes_no_more(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    async with engine.begin() as connection:
        await leases.take(connection, "holder", "acme", 50)
        await leases.give_back(connection, "holder", "acme", 70)
    assert [lease.amount for lease in await books.leases()] == [50]


async def test_of_who_has_nothing_more_nothing_is_wanted(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    async with engine.begin() as connection:
        await leases.take(connection, "holder", "acme", 50)
        await leases.take(connection, "other", "acme", 85)
        await leases.give_back(connection, "holder", "acme")
        assert await leases.wanted(connection, "holder") == []
