"""A real Postgres for tests, from the package pgserver, and databases that are away."""

import shutil
import signal
import sqlite3
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pgserver
import psutil


class PostgresServer:
    """One server for a whole run."""

    def __init__(self) -> None:
        # Outside pytest's folders: if root starts the server, it runs as a user who cannot read them.
        self._folder = Path(tempfile.mkdtemp(prefix="quartet-postgres-"))
        self._server = pgserver.get_server(self._folder / "data", cleanup_mode="stop")
        # What a crash of the machine would lose is of no use to tests.
        self._server.psql("ALTER SYSTEM SET fsync = off")
        self._server.psql("SELECT pg_reload_conf()")
        self._used = ""

    def emptied(self) -> str:
        """The address of the database of one test after another, without what the test before left."""
        self._used = self._used or self.new_database()
        name = _name(self._used)
        self._server.psql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        self._server.psql(f"\\c {name}\nDROP SCHEMA public CASCADE; CREATE SCHEMA public")
        return self._used

    def new_database(self) -> str:
        """The address of an empty database."""
        name = f"test_{uuid.uuid4().hex}"
        self._server.psql(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@/{name}?host={self._folder / 'data'}"

    @contextmanager
    def refusing(self, address: str) -> Iterator[None]:
        """Within the block, the database ends its connections and refuses new ones."""
        name = _name(address)
        self._server.psql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        self._server.psql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        yield
        self._server.psql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

    def set_password(self, role: str, password: str) -> None:
        """Set the password of a superuser, who needs it to connect; the role is created if it does not exist."""
        rules = self._folder / "data" / "pg_hba.conf"
        own = f"local all {role} scram-sha-256\n"
        if not (found := rules.read_text(encoding="utf-8")).startswith(own):
            rules.write_text(own + found, encoding="utf-8")
            self._server.psql(f"CREATE ROLE {role} SUPERUSER LOGIN")
            self._server.psql("SELECT pg_reload_conf()")
        self._server.psql(f"ALTER ROLE {role} PASSWORD '{password}'")

    @property
    def process(self) -> psutil.Process:
        """The server, whose children are its connections."""
        process: psutil.Process = self._server.get_postmaster_info().process
        return process

    def stop(self) -> None:
        # At once, and not after it has written the data of all tests to the disk.
        process = self.process
        process.send_signal(signal.SIGQUIT)
        process.wait()
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def locked(address: str) -> Iterator[None]:
    """Within the block, nobody else writes to this SQLite file."""
    connection = sqlite3.connect(address.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    yield
    connection.execute("ROLLBACK")
    connection.close()


def _name(address: str) -> str:
    return urlsplit(address).path.removeprefix("/")
