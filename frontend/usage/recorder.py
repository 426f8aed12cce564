"""Brings charges from this frontend to the database, and those of frontends that died."""

import asyncio
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.background import Repeating
from frontend.database.engine import DATABASE_FAILURES
from frontend.observe import USAGE_WAITING, Outage, log
from frontend.usage.events import UsageEvent, amounts
from frontend.usage.ledger import Ledger, Repeats
from frontend.usage.spool import Spool
from frontend.usage.wallets import Wallets

_TICK_SECONDS = 0.2
_BATCH = 100
# Others' spools are looked for at each of so many ticks.
_SEARCH_TICKS = 10


class Recorder:
    """Charges go to a file at once and to the database soon; while that is away, requests do not notice."""

    def __init__(self, engine: AsyncEngine, folder: Path, repeats: Repeats) -> None:
        self._engine, self._folder, self._repeats = engine, folder, repeats
        self._spool = Spool(folder)
        self._ledger = Ledger(engine, self._spool.name, repeats)
        self.wallets = Wallets(engine, self._spool.name)
        self._ticking = Repeating(_TICK_SECONDS, self._tick)
        self._ticks = 0
        self._outage = Outage("the database takes no charges; they wait on disk", "the database takes charges again")

    async def start(self) -> None:
        """Settle what dead frontends left, then begin; a database that is away is waited for beside the requests."""
        await self._tick()
        self._ticking.start()

    async def close(self) -> None:
        """Write what is there and give every lease back; what the database does not take now is settled later."""
        # Half a transaction is not broken off: what its connection makes of that is not to be relied on.
        await self._ticking.finish()
        await self.wallets.close()
        try:
            await self._write_all()
            await self._ledger.end()
        except DATABASE_FAILURES as error:
            log.error("charges are left for the next start", extra={"fields": {"details": str(error)}})
        self._spool.close()

    def charge(self, event: UsageEvent) -> None:
        """Write a charge to the disk, on the spot: the answer's last piece goes out next."""
        self._spool.add(event)
        if event.payer is not None:
            self.wallets.spend(event.payer, event.amount)

    async def _tick(self) -> None:
        try:
            await self._write_all()
            await self.wallets.tend()
            if self._ticks % _SEARCH_TICKS == 0:
                await self._settle_the_dead()
                await asyncio.to_thread(self._spool.tidy)
            self._ticks += 1
            self._outage.note(None)
        except DATABASE_FAILURES as error:
            self._outage.note(error)
        USAGE_WAITING.set(len(self._spool))

    async def _write_all(self) -> None:
        """Batch by batch, until nothing is left."""
        while batch := self._spool.oldest(_BATCH):
            async with self.wallets.changing:
                left = await self._ledger.write(batch)
                self._spool.remove([place for place, _ in batch])
                self.wallets.written(amounts(event for _, event in batch), left)

    async def _settle_the_dead(self) -> None:
        for spool in Spool.orphans(self._folder):
            try:
                ledger, count = Ledger(self._engine, spool.name, self._repeats), len(spool)
                while batch := spool.oldest(_BATCH):
                    await ledger.write(batch)
                    spool.remove([place for place, _ in batch])
                await ledger.end()
                log.info("settled for a frontend that died", extra={"fields": {"charges": count}})
            finally:
                spool.close()
