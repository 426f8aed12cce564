"""Brings charges from this frontend to the database, and those of frontends that died."""

import asyncio
import sqlite3
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.catalogue.models import SPEECH, TRANSCRIPTIONS
from frontend.database.engine import DATABASE_FAILURES
from frontend.observe.logs import Outage, log
from frontend.observe.metrics import AUDIO_SECONDS, CHARACTERS, TOKENS, USAGE_UNWRITABLE, USAGE_WAITING
from frontend.processes.background import Repeating
from frontend.usage.ledger import Ledger, Repeats
from frontend.usage.spool import Spool, UsageEvent
from frontend.usage.wallets import Wallets

_TICK_SECONDS = 0.2
_BATCH = 100
_LOOK_SECONDS = 1.0
_SEARCH_SECONDS = 5.0
# What the database raises that is away, and the disk that is full.
_FAILURES = (*DATABASE_FAILURES, sqlite3.Error)


def _count(event: UsageEvent) -> None:
    if event.operation == TRANSCRIPTIONS:
        AUDIO_SECONDS.labels(event.model).inc(event.quantity / 1000)
    elif event.operation == SPEECH:
        CHARACTERS.labels(event.model).inc(event.quantity)
    else:
        TOKENS.labels(event.model).inc(event.quantity)


class Recorder:
    """Charges go to a file at once and to the database soon; while that is away, requests do not notice."""

    def __init__(self, engine: AsyncEngine, folder: Path, repeats: Repeats) -> None:
        self._engine, self._folder, self._repeats = engine, folder, repeats
        try:
            self._spool = Spool(folder)
        except sqlite3.Error as error:
            raise OSError(f"charges cannot be written to {folder}: {error}") from None
        self._ledger = Ledger(engine, self._spool.name, repeats)
        self.wallets = Wallets(engine, self._spool.name)
        self._repeated = (
            Repeating(_TICK_SECONDS, self._bring),
            Repeating(_LOOK_SECONDS, self._look),
            Repeating(_SEARCH_SECONDS, self._search),
        )
        self._bringing = Outage("the database takes no charges; they wait on disk", "the database takes charges again")
        self._disk = Outage("charges cannot be written to the disk: requests are refused", "charges can be written")

    async def start(self) -> None:
        """Settle what dead frontends left, then begin; a database that is away is waited for beside the requests."""
        await self._look()
        await self._bring()
        await self._search()
        for repeating in self._repeated:
            repeating.start()

    async def close(self) -> None:
        """Write what is there and end every reservation; what the database does not take now is settled later."""
        # Half a transaction is not broken off: what its connection makes of that is not to be relied on.
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
        """Whether work may begin: there is room on the disk to write down what it costs."""
        return not self._disk.away

    def charge(self, event: UsageEvent) -> None:
        """Write a charge to the disk, on the spot: the answer's last piece goes out next."""
        try:
            self._spool.add(event)
        except sqlite3.Error as error:
            self._disk.note(error)
            raise
        _count(event)

    async def _look(self) -> None:
        """See whether charges can be written, before anybody has worked for one that cannot."""
        with self._disk.noting(_FAILURES):
            self._spool.check()
            await asyncio.to_thread(self._spool.tidy)
        USAGE_UNWRITABLE.set(not self.can_charge)

    async def _bring(self) -> None:
        with self._bringing.noting(_FAILURES):
            await self._write(self._spool, self._ledger)
        USAGE_WAITING.set(len(self._spool))

    async def _search(self) -> None:
        """Settle for frontends that died; after a long outage of the database, what was charged goes first."""
        if self._bringing.away:
            return
        with self._bringing.noting(_FAILURES):
            await self._settle_the_dead()
            await self.wallets.end_expired()

    @staticmethod
    async def _write(spool: Spool, ledger: Ledger) -> int:
        """Batch by batch, until nothing is left; answers how many charges that were."""
        count = 0
        while batch := spool.oldest(_BATCH):
            await ledger.write(batch)
            spool.remove(batch[-1][0])
            count += len(batch)
        return count

    async def _settle_the_dead(self) -> None:
        for spool in Spool.orphans(self._folder):
            try:
                ledger = Ledger(self._engine, spool.name, self._repeats)
                count = await self._write(spool, ledger)
                await ledger.end()
                log.info("settled for a frontend that died", extra={"fields": {"charges": count}})
            finally:
                spool.close()
