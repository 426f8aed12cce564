"""Backup and restore as docs/operations.md has them: keys and charges of the backup's time, and no more."""

import asyncio
import dataclasses
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pgserver
import pytest

from frontend.commands.database import with_database
from frontend.config.settings import Settings
from tests.charges import charges, speak
from tests.conftest import KEY, ROOT, running
from tests.databases import PostgresServer
from tests.fakes import FakeTriton, add_key

_GUIDE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
_BIN = Path(pgserver.__file__).parent / "pginstall" / "bin"


def _options(program: str) -> list[str]:
    """What the guide gives to ``pg_dump`` or ``pg_restore``, but for where they connect to."""
    (line,) = re.findall(rf"exec -T postgres {program} (.+?) [<>]", _GUIDE)
    words = shlex.split(line.replace(" quartet", "", 1))
    return [word for word in words if word not in ("--username", "--dbname", "quartet")]


def _said(settings: Settings, texts: Sequence[str]) -> set[int]:
    """What the ledger has charged for, after these were spoken."""

    async def run() -> set[int]:
        async with running(settings, FakeTriton()) as client:
            for text in texts:
                assert (await speak(client, text))[0] == 200
            return {row["quantity"] for row in await charges(client, settings)}

    return asyncio.run(run())


def test_a_restored_postgres_has_the_keys_and_charges_of_its_backup(
    settings: Settings, postgres: PostgresServer, tmp_path: Path
) -> None:
    settings = dataclasses.replace(settings, database=postgres.new_database())
    with_database(settings, lambda engine: add_key(engine, KEY))
    assert _said(settings, ["one"]) == {3}
    address, dump = f"--dbname={settings.database}", tmp_path / "dump"
    with dump.open("wb") as file:
        subprocess.run([_BIN / "pg_dump", *_options("pg_dump"), address], stdout=file, check=True)
    assert _said(settings, ["three"]) == {3, 5}
    with dump.open("rb") as file:
        subprocess.run([_BIN / "pg_restore", *_options("pg_restore"), address], stdin=file, check=True)
    assert _said(settings, ["seventh"]) == {3, 7}


def test_a_restored_sqlite_has_the_keys_and_charges_of_its_backup(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (line,) = re.findall(r'-c "(import sqlite3;.+?)"', _GUIDE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    settings = dataclasses.replace(settings, database=f"sqlite:///{tmp_path}/data/quartet.sqlite3")
    with_database(settings, lambda engine: add_key(engine, KEY))
    assert _said(settings, ["one"]) == {3}
    exec(line)
    assert _said(settings, ["three"]) == {3, 5}
    (restoring,) = re.findall(r"^(cp backup\.sqlite3 .+?) +#", _GUIDE, re.MULTILINE)
    subprocess.run(restoring, shell=True, check=True)
    assert _said(settings, ["seventh"]) == {3, 7}
