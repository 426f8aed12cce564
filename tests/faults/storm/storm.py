"""Frontends are killed, their disk is full, their database is away: what callers have and what the ledger has."""

import asyncio
import random
import time
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, select

from frontend.access import api_key
from frontend.administration.registry import Registry
from frontend.administration.usage.queries import UsageQueries
from frontend.config.reading import CONFIG_FILE
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.database.tables import RESERVATIONS, USAGE_DAYS, USAGE_EVENTS
from tests.disks import SmallDisk
from tests.eventually import until
from tests.fakes import add_key
from tests.faults.storm.fleet import EMBEDDING, FRONTENDS, RANKING, Clients, Delivered, Fleet
from tests.frontends import named

# In a shorter outage, a busy machine may answer nobody.
_NOTICED_SECONDS = 10.0
_ORG, _TOP_UP = "acme", 1_000_000_000
_PRICES = f"[prices.embed-m3]\nmillion_tokens = {EMBEDDING}\n[prices.rerank-v2-m3]\nmillion_tokens = {RANKING}\n"


@dataclass(frozen=True)
class Size:
    """At least so many ``requests``, and ``kills``; seconds that the disk is ``full`` and the database ``away``."""

    requests: int
    kills: int
    full: float
    away: float


@dataclass(frozen=True)
class Outcome:
    """What clients have and what the ledger has. ``balance`` and the like are in micro-CHF, ``away`` is from and to."""

    delivered: list[Delivered]
    failed: Counter[str]
    rows: list[tuple[str, int]]
    balance: int
    by_day: int
    reservations: int
    files: list[str]
    away: tuple[float, float]

    @property
    def faults(self) -> list[str]:
        """Whatever is not as it must be."""
        wanted = {answer.request_id: answer.amount for answer in self.delivered}
        found = Counter(request_id for request_id, _ in self.rows)
        charged = sum(amount for _, amount in self.rows)
        paid = sum(answer.amount for answer in self.delivered if answer.prepaid)
        meanwhile = sum(self.away[0] < answer.at < self.away[1] and not answer.prepaid for answer in self.delivered)
        checks = {
            f"lost: {sorted(wanted.keys() - found.keys())[:5]}": wanted.keys() <= found.keys(),
            f"nobody has: {sorted(found.keys() - wanted.keys())[:5]}": found.keys() <= wanted.keys(),
            f"twice: {[name for name, times in found.items() if times > 1][:5]}": max(found.values(), default=0) < 2,
            "another amount": all(wanted.get(name, amount) == amount for name, amount in self.rows),
            f"the balance is off by {_TOP_UP - paid - self.balance}": _TOP_UP - paid == self.balance,
            f"the sums by day are off by {charged - self.by_day}": charged == self.by_day,
            f"{self.reservations} reservations are left": not self.reservations,
            f"charges are left: {self.files}": not self.files,
            "nobody was answered while the database was away": meanwhile
            or self.away[1] - self.away[0] < _NOTICED_SECONDS,
        }
        return [fault for fault, holds in checks.items() if not holds]


class Storm:
    """Kills, a full disk, a database that is away."""

    def __init__(self, fleet: Fleet, disk: SmallDisk, away: AbstractContextManager[None], size: Size) -> None:
        self._fleet, self._disk, self._away, self._size = fleet, disk, away, size
        self.was_away = (0.0, 0.0)

    async def break_all(self) -> None:
        """First the disk, then the database; one frontend after another all the time."""
        breaking = [self._fill_the_disk, self._take_the_database]
        async with asyncio.TaskGroup() as meanwhile:
            outages: list[asyncio.Task[None]] = []
            for kill in range(self._size.kills):
                if breaking and kill >= len(outages) * self._size.kills // 2:
                    await asyncio.gather(*outages)
                    outages.append(meanwhile.create_task(breaking.pop(0)()))
                await asyncio.sleep(random.random())
                port = random.choice(self._fleet.ports)
                await self._fleet.kill(port)
                await self._fleet.start(port)

    async def _fill_the_disk(self) -> None:
        await asyncio.to_thread(self._disk.fill)
        await asyncio.sleep(self._size.full)
        self._disk.free()

    async def _take_the_database(self) -> None:
        with self._away:
            began = time.monotonic()
            await asyncio.sleep(self._size.away)
            self.was_away = (began, time.monotonic())


async def storm(
    database: str, folder: Path, disk: SmallDisk, away: AbstractContextManager[None], size: Size
) -> Outcome:
    """Prepare, call, break, settle, and read the ledger."""
    keys, engine = (api_key.new_key(), api_key.new_key()), open_engine(database)
    await migrate(engine)
    registry, books = Registry(engine), UsageQueries(engine)
    await registry.create_org(_ORG, None)
    await add_key(engine, keys[0], org=_ORG)
    await add_key(engine, keys[1])
    await books.top_up(_ORG, _TOP_UP, None)
    (folder / "quartet.toml").write_text(_PRICES, encoding="utf-8")
    own = named(DATABASE=database, USAGE_FOLDER=folder / "usage")
    fleet = Fleet({CONFIG_FILE: str(folder / "quartet.toml"), **own}, disk.within, folder / "log")
    clients, broken = Clients(fleet, keys, size.requests), Storm(fleet, disk, away, size)
    async with fleet, asyncio.timeout(size.full + size.away + size.requests + 60 * size.kills):
        calling = asyncio.create_task(clients.run())
        await broken.break_all()
        clients.may_stop = True
        await calling
        # A frontend that lives settles for those that died.
        await until(lambda: len(list(disk.folder.glob("*.spool"))) <= FRONTENDS, 60)
        await fleet.stop()
    async with engine.connect() as connection:
        rows = await connection.execute(select(USAGE_EVENTS.c.request_id, USAGE_EVENTS.c.amount))
        pairs = [(row[0], row[1]) for row in rows]
        by_day = int(await connection.scalar(select(func.sum(USAGE_DAYS.c.amount))) or 0)
        reservations = await connection.scalar(select(func.count()).select_from(RESERVATIONS)) or 0
    balance = await books.balance(_ORG)
    await engine.dispose()
    assert balance is not None
    files = [file.name for file in disk.folder.iterdir()]
    return Outcome(clients.delivered, clients.failed, pairs, balance, by_day, reservations, files, broken.was_away)
