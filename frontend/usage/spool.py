"""Charges of this process on the local disk, until the database has them."""

import errno
import fcntl
import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import orjson

from frontend.database.same_file import SameFile
from frontend.observe.logs import log

_SUFFIX = ".spool"
_TABLE = "CREATE TABLE IF NOT EXISTS charges (place INTEGER PRIMARY KEY AUTOINCREMENT, event BLOB)"
# With small pages, a charge takes 3 kB of the log. The log is truncated when it is reset.
_PRAGMAS = ("page_size=1024", "journal_mode=WAL", "synchronous=NORMAL", "wal_autocheckpoint=0", "journal_size_limit=0")
# The size of SQLite's log, in bytes, from which its pages are moved into the file.
_LONG_LOG = 4 * 1024 * 1024
# With fewer free bytes on the disk, no work begins. About 10,000 charges of running work still fit.
_LEAST_ROOM = 32 * 1024 * 1024


@dataclass(frozen=True)
class UsageEvent:
    """One answer: ``quantity`` (ms of audio, code points or tokens) at ``price`` micro-CHF a ``unit`` is ``amount``.

    ``id`` is the same for repeats of a request. ``prepaid`` is whether a wallet pays. ``at`` is in seconds since 1970.
    ``price`` is stored, so that later prices do not change old charges. ``reservation`` has the ids of the
    reservations, separated by commas.
    """

    id: str
    request_id: str
    key_id: str
    org: str | None
    operation: str
    model: str
    quantity: int
    unit: str
    price: int
    amount: int
    prepaid: bool
    at: int
    reservation: str = ""

    @property
    def payer(self) -> str | None:
        """The organisation whose wallet pays."""
        return self.org if self.prepaid else None


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
        self._database = sqlite3.connect(self._path, isolation_level=None)
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

    def add(self, event: UsageEvent) -> None:
        """Write a charge. Its place is never used again in this file."""
        self._database.execute("INSERT INTO charges (event) VALUES (?)", (orjson.dumps(event),))

    def remove(self, last: int) -> None:
        """Delete charges up to a place."""
        self._database.execute("DELETE FROM charges WHERE place <= ?", (last,))

    def oldest(self, most: int) -> list[tuple[int, UsageEvent]]:
        """At most ``most`` of the oldest charges, each with its place, in order."""
        rows = self._database.execute("SELECT place, event FROM charges ORDER BY place LIMIT ?", (most,))
        return [(place, UsageEvent(**orjson.loads(event))) for place, event in rows]

    def __len__(self) -> int:
        # Places have no gaps. Counting a million rows would take a quarter of a second.
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
        """Unlock the spool. An empty one is deleted; another process may claim it otherwise."""
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
