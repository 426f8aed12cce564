"""Writes charges to the local spool, and moves them to the database, including charges of dead frontends."""

import asyncio
import sqlite3
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.catalogue.models import SPEECH, TRANSCRIPTIONS
from frontend.concurrency.background import Repeating
from frontend.database.engine import DATABASE_FAILURES
from frontend.observe.logs import Outage, log
from frontend.observe.metrics import AUDIO_SECONDS, CHARACTERS, TOKENS, USAGE_UNWRITABLE, USAGE_WAITING
from frontend.usage.ledger import IdempotencyWindow, Ledger
from frontend.usage.spool import Spool, UsageEvent
from frontend.usage.wallets import Wallets

# Seconds between two moves to the database, two checks of the disk, and two searches for dead frontends' spools.
_MOVE_SECONDS = 0.2
_CHECK_SECONDS = 1.0
_SEARCH_SECONDS = 5.0
# Charges per transaction.
_BATCH = 100
# Failures of the database or of the disk.
_FAILURES = (*DATABASE_FAILURES, sqlite3.Error)


def _count(event: UsageEvent) -> None:
    if event.operation == TRANSCRIPTIONS:
        AUDIO_SECONDS.labels(event.model).inc(event.quantity / 1000)
    elif event.operation == SPEECH:
        CHARACTERS.labels(event.model).inc(event.quantity)
    else:
        TOKENS.labels(event.model).inc(event.quantity)


class Recorder:
    """Charges go to a file at once and to the database soon. Requests notice no outage of the database."""

    def __init__(self, engine: AsyncEngine, folder: Path, window: IdempotencyWindow) -> None:
        self._engine, self._folder, self._window = engine, folder, window
        try:
            self._spool = Spool(folder)
        except sqlite3.Error as error:
            raise OSError(f"charges cannot be written to {folder}: {error}") from None
        self._ledger = Ledger(engine, self._spool.name, window)
        self.wallets = Wallets(engine, self._spool.name)
        self._repeated = (
            Repeating(_MOVE_SECONDS, self._move),
            Repeating(_CHECK_SECONDS, self._check),
            Repeating(_SEARCH_SECONDS, self._search),
        )
        self._database = Outage("the database takes no charges; they wait on disk", "the database takes charges again")
        self._disk = Outage("charges cannot be written to the disk: requests are refused", "charges can be written")

    async def start(self) -> None:
        """Settle the charges of dead frontends, then begin. An outage of the database delays no start."""
        await self._check()
        await self._move()
        await self._search()
        for repeating in self._repeated:
            repeating.start()

    async def close(self) -> None:
        """Write the remaining charges and end every reservation. After a failure, the next start settles them."""
        # Finish transactions: a cancelled one leaves its connection in an unknown state.
        await asyncio.gather(*(repeating.finish() for repeating in self._repeated))
        await self.wallets.close()
        try:
            await self._write(self._spool, self._ledger)
            await self._ledger.end()
        except _FAILURES as error:
            log.error("charges are left for the next start", extra={"fields": {"details": str(error)}})
        self._spool.close()

    @property
    def can_charge(self) -> bool:
        """Whether charges can be written to the disk."""
        return not self._disk.away

    def charge(self, event: UsageEvent) -> None:
        """Write a charge to the disk, before its answer goes out. Raises ``sqlite3.Error``."""
        try:
            self._spool.add(event)
        except sqlite3.Error as error:
            self._disk.note(error)
            raise
        _count(event)

    async def _check(self) -> None:
        """Check that charges can be written, before work begins that could not be charged."""
        with self._disk.noting(_FAILURES):
            self._spool.check()
            await asyncio.to_thread(self._spool.tidy)
        USAGE_UNWRITABLE.set(not self.can_charge)

    async def _move(self) -> None:
        with self._database.noting(_FAILURES):
            await self._write(self._spool, self._ledger)
        USAGE_WAITING.set(len(self._spool))

    async def _search(self) -> None:
        """Settle the charges of dead frontends. After an outage of the database, own charges go first."""
        if self._database.away:
            return
        with self._database.noting(_FAILURES):
            await self._settle_the_dead()
            await self.wallets.renew()
            await self.wallets.end_expired()

    @staticmethod
    async def _write(spool: Spool, ledger: Ledger) -> int:
        """Write the charges of a spool in batches, up to one that is not full; return their number."""
        count, is_full = 0, True
        # Charges that come during the last transaction wait: writing them at once would make a transaction of each.
        while is_full and (batch := spool.oldest(_BATCH)):
            await ledger.write(batch)
            spool.remove(batch[-1][0])
            count += len(batch)
            is_full = len(batch) == _BATCH
        return count

    async def _settle_the_dead(self) -> None:
        for spool in Spool.orphans(self._folder):
            try:
                ledger = Ledger(self._engine, spool.name, self._window)
                count = await self._write(spool, ledger)
                await ledger.end()
                log.info("settled for a frontend that died", extra={"fields": {"charges": count}})
            finally:
                spool.close()
