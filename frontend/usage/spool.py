"""Charges of this process on the local disk, from before an answer's last piece until the database has them."""

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
# Small pages: a charge takes 3 kB of the log, which gives its room back when it begins anew.
_PRAGMAS = ("page_size=1024", "journal_mode=WAL", "synchronous=NORMAL", "wal_autocheckpoint=0", "journal_size_limit=0")
# Written pages that are worth moving from SQLite's log into its file.
_LONG_LOG = 4 * 1024 * 1024
# With less room on the disk no more work begins: some 10,000 charges of what is under way still fit.
_LEAST_ROOM = 32 * 1024 * 1024


@dataclass(frozen=True)
class UsageEvent:
    """One answer: ``quantity`` (ms of audio, code points or tokens) at ``price`` micro-CHF a ``unit`` is ``amount``.

    ``id`` is what its request is known by, the same for a repeat. ``prepaid`` says that a wallet pays for it. ``at`` is
    in seconds since 1970. The price is kept, so that a later one changes nothing. ``reservation`` is what of the wallet
    was set aside for it.
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
    """An SQLite file that one process holds; when that dies, another may claim it.

    A commit survives the death of the process at once. It is not forced to the disk, since that would hold up the
    event loop: a loss of power can take the last moment's charges, never what is older.

    Whatever cannot be written raises ``sqlite3.Error`` or ``OSError``.
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
        """Those of processes that have died, each held from here on."""
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            try:
                lock = _locked(path)
            except BlockingIOError:
                continue
            if not path.exists():
                # Another has settled it between the look and the lock.
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
        """Write a charge, at a place that no other charge of this file ever has."""
        self._database.execute("INSERT INTO charges (event) VALUES (?)", (orjson.dumps(event),))

    def remove(self, last: int) -> None:
        """Forget charges up to a place: the database has them."""
        self._database.execute("DELETE FROM charges WHERE place <= ?", (last,))

    def oldest(self, most: int) -> list[tuple[int, UsageEvent]]:
        """The charges that have waited longest, each with its place, in order."""
        rows = self._database.execute("SELECT place, event FROM charges ORDER BY place LIMIT ?", (most,))
        return [(place, UsageEvent(**orjson.loads(event))) for place, event in rows]

    def __len__(self) -> int:
        # No place is missing between the oldest and the newest: to count takes a quarter of a second for a million.
        query = "SELECT (SELECT max(place) FROM charges) - (SELECT min(place) FROM charges) + 1"
        (count,) = self._database.execute(query).fetchone()
        return count or 0

    def tidy(self) -> None:
        """Shorten SQLite's log where it has grown. May wait for the disk: for a thread."""
        log = self._path.with_name(f"{self._path.name}-wal")
        if log.exists() and log.stat().st_size > _LONG_LOG:
            with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def check(self) -> None:
        """Write a page as a charge does, to a file that another process would find, on a disk with room for more."""
        for file in self._files:
            file.check()
        disk = os.statvfs(self._path)
        if disk.f_bavail * disk.f_frsize < _LEAST_ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._database.execute("PRAGMA user_version=1")

    def close(self) -> None:
        """Let go of it; an empty one is deleted, another is left for whoever claims it."""
        empty = not self.oldest(1)
        self._database.close()
        if empty:
            for path in (self._path, _lock_path(self._path)):
                path.unlink(missing_ok=True)
        os.close(self._lock)


def _lock_path(path: Path) -> Path:
    # Not the database's own file: closing that would drop SQLite's locks on it.
    return path.with_suffix(".lock")


def _locked(path: Path) -> int:
    """A descriptor that holds the lock, which ends with this process; ``BlockingIOError`` where another holds it."""
    descriptor = os.open(_lock_path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
