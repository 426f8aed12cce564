"""Charges of answers: in a file on the local disk at once, and in the database soon.

The file is not only for outages. A charge must survive the death of this process as soon as its answer ends. Written
to the database by then, it would take a transaction of its own, which costs a hundred times as much processor as a
hundredth of a transaction, and its caller would wait for it. From the file, charges go to the database in batches.
"""

import asyncio
import errno
import fcntl
import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import orjson
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.billing.ledger import Charge, IdempotencyWindow, Ledger
from frontend.billing.wallets import Wallets
from frontend.catalogue.models import SPEECH, TRANSCRIPTIONS
from frontend.concurrency.background import Repeating
from frontend.database.engine import DATABASE_FAILURES, SameFile
from frontend.observe.logs import Outage, log
from frontend.observe.metrics import AUDIO_SECONDS, CHARACTERS, TOKENS, USAGE_UNWRITABLE, USAGE_WAITING

_SUFFIX = ".spool"
_TABLE = "CREATE TABLE IF NOT EXISTS charges (place INTEGER PRIMARY KEY AUTOINCREMENT, event BLOB)"
# With small pages, a charge takes 3 kB of the log. The log is truncated when it is reset.
_PRAGMAS = ("page_size=1024", "journal_mode=WAL", "synchronous=NORMAL", "wal_autocheckpoint=0", "journal_size_limit=0")
# The size of SQLite's log, in bytes, from which its pages are moved into the file.
_LONG_LOG = 4 * 1024 * 1024
# With fewer free bytes on the disk, no work begins. About 10,000 charges of running work still fit.
_LEAST_ROOM = 32 * 1024 * 1024
# Seconds between two moves to the database, two checks of the disk, and two searches for dead frontends' spools.
_MOVE_SECONDS = 0.5
_CHECK_SECONDS = 1.0
_SEARCH_SECONDS = 5.0
# Charges per transaction. One of a single charge takes 3 to 5 ms of a processor, one of a full batch about 10 ms.
_BATCH = 250
# Failures of the database or of the disk.
_FAILURES = (*DATABASE_FAILURES, sqlite3.Error)


class Spool:
    """An SQLite file that one process locks. When the process dies, another may claim it.

    A commit survives the death of the process. It is not synced to the disk, which would block the event loop, so a
    power loss can lose the charges of the last moments.

    Writing raises ``sqlite3.Error`` or ``OSError``.
    """

    def __init__(self, folder: Path, name: str | None = None, lock: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name or uuid.uuid4().hex
        self._path = folder / f"{self.name}{_SUFFIX}"
        self._lock = _locked(self._path) if lock is None else lock
        # A thread closes it.
        self._database = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        for pragma in _PRAGMAS:
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute(_TABLE)
        self._files = [SameFile(path) for path in (self._path, _lock_path(self._path))]

    @classmethod
    def orphans(cls, folder: Path) -> "Iterator[Spool]":
        """Lock and open the spools of processes that have died."""
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            try:
                lock = _locked(path)
            except BlockingIOError:
                continue
            if not path.exists():
                # Another process has settled it before we had the lock.
                _lock_path(path).unlink(missing_ok=True)
                os.close(lock)
                continue
            try:
                yield cls(folder, path.stem, lock)
            except sqlite3.DatabaseError as error:
                os.close(lock)
                if error.sqlite_errorcode not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    raise
                path.rename(path.with_suffix(".broken"))
                log.error("a file of charges cannot be read", extra={"fields": {"file": str(path)}})

    def add(self, charge: Charge) -> None:
        """Write a charge. Its position is never used again in this file."""
        self._database.execute("INSERT INTO charges (event) VALUES (?)", (orjson.dumps(charge),))

    def remove(self, last: int) -> None:
        """Delete charges up to a position."""
        self._database.execute("DELETE FROM charges WHERE place <= ?", (last,))

    def oldest(self, most: int) -> list[tuple[int, Charge]]:
        """At most ``most`` of the oldest charges, each with its position, in order."""
        rows = self._database.execute("SELECT place, event FROM charges ORDER BY place LIMIT ?", (most,))
        return [(position, Charge(**orjson.loads(charge))) for position, charge in rows]

    def __len__(self) -> int:
        # Positions have no gaps. Counting a million rows would take a quarter of a second.
        query = "SELECT (SELECT max(place) FROM charges) - (SELECT min(place) FROM charges) + 1"
        (count,) = self._database.execute(query).fetchone()
        return count or 0

    def tidy(self) -> None:
        """Shorten SQLite's log if it is long. Call this in a thread, because it may wait for the disk."""
        log = self._path.with_name(f"{self._path.name}-wal")
        if log.exists() and log.stat().st_size > _LONG_LOG:
            with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def check(self) -> None:
        """Raise unless the files are in place, the disk has room, and a page can be written."""
        for file in self._files:
            file.check()
        disk = os.statvfs(self._path)
        if disk.f_bavail * disk.f_frsize < _LEAST_ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._database.execute("PRAGMA user_version=1")

    def close(self) -> None:
        """Unlock the spool. An empty one is deleted; another process may claim it otherwise.

        Call this in a thread, because it may wait for the disk.
        """
        empty = not self.oldest(1)
        self._database.close()
        if empty:
            for path in (self._path, _lock_path(self._path)):
                path.unlink(missing_ok=True)
        os.close(self._lock)


def _lock_path(path: Path) -> Path:
    # A file of its own, because closing the database's file would drop SQLite's locks on it.
    return path.with_suffix(".lock")


def _locked(path: Path) -> int:
    """A descriptor with the lock, until this process ends. Raises ``BlockingIOError`` if another process has it."""
    descriptor = os.open(_lock_path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


class Charges:
    """The charges of this process, and those that dead ones left. Requests notice no outage of the database."""

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
        await asyncio.to_thread(self._spool.close)

    @property
    def can_add(self) -> bool:
        """Whether charges can be written to the disk."""
        return not self._disk.away

    def add(self, charge: Charge) -> None:
        """Write a charge to the disk, before the end of its answer. Raises ``sqlite3.Error``."""
        try:
            self._spool.add(charge)
        except sqlite3.Error as error:
            self._disk.note(error)
            raise
        _count(charge)

    async def _check(self) -> None:
        """Check that charges can be written, before work begins that could not be charged."""
        with self._disk.noting(_FAILURES):
            self._spool.check()
            await asyncio.to_thread(self._spool.tidy)
        USAGE_UNWRITABLE.set(not self.can_add)

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
                await asyncio.to_thread(spool.close)


def _count(charge: Charge) -> None:
    if charge.operation == TRANSCRIPTIONS:
        AUDIO_SECONDS.labels(charge.model).inc(charge.quantity / 1000)
    elif charge.operation == SPEECH:
        CHARACTERS.labels(charge.model).inc(charge.quantity)
    else:
        TOKENS.labels(charge.model).inc(charge.quantity)
