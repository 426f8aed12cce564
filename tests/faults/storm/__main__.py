"""Whether the ledger is exact whatever happens meanwhile, at full size: ``python -m tests.faults.storm``.

Two frontends share a database and a folder of charges on a small disk. Callers, half of whom prepay, repeat each
request until they have an answer. Meanwhile frontends are killed and started again, the disk is full and the database
is away. In the end, the ledger must have one row for each answer, with its price, and nothing else.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path

from tests.databases import PostgresServer, locked
from tests.disks import small_disk
from tests.faults.storm.storm import Size, storm


def _at_full_size(name: str, database: str, away: AbstractContextManager[None], folder: Path, size: Size) -> bool:
    began = time.monotonic()
    with small_disk(folder / "usage") as disk:
        assert disk is not None, "this machine lets nobody mount a file system of their own"
        outcome = asyncio.run(storm(database, folder, disk, away, size))
    counts = f"{len(outcome.delivered)} answers, {len(outcome.rows)} rows, {outcome.failed.total()} tries that failed:"
    print(name, counts, *(f"{count} x {what}" for what, count in outcome.failed.most_common()), sep="\n  ")
    print(f"  {time.monotonic() - began:.0f} s")
    print(f"  {'; '.join(outcome.faults) or 'rows are answers'}", flush=True)
    return not outcome.faults


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill frontends, fill the disk and take the database away.")
    parser.add_argument("databases", nargs="*", default=["sqlite", "postgres"])
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--full", type=float, default=10, help="seconds")
    parser.add_argument("--away", type=float, default=60, help="seconds")
    given = vars(parser.parse_args())
    databases, held = given.pop("databases"), []
    with tempfile.TemporaryDirectory() as folder:
        if "sqlite" in databases:
            database = f"sqlite:///{folder}/quartet.sqlite3"
            held.append(_at_full_size("SQLite", database, locked(database), Path(folder), Size(**given)))
    with tempfile.TemporaryDirectory() as folder:
        if "postgres" in databases:
            server = PostgresServer()
            database = server.new_database()
            held.append(_at_full_size("Postgres", database, server.refusing(database), Path(folder), Size(**given)))
            server.stop()
    return 0 if held and all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
