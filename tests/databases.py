"""A real Postgres for tests, from the package pgserver."""

import shutil
import tempfile
import uuid
from pathlib import Path

import pgserver


class PostgresServer:
    """One server for a whole run; every test takes a database of its own."""

    def __init__(self) -> None:
        # Not below pytest's own folders: as root the server runs as another user, who could not get there.
        self._folder = Path(tempfile.mkdtemp(prefix="quartet-postgres-"))
        self._server = pgserver.get_server(self._folder / "data", cleanup_mode="stop")

    def new_database(self) -> str:
        """The address of an empty database."""
        name = f"test_{uuid.uuid4().hex}"
        self._server.psql(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@/{name}?host={self._folder / 'data'}"

    def stop(self) -> None:
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)
