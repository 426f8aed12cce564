import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from frontend.billing.charges import Spool
from tests.conftest import ROOT
from tests.unit.billing.conftest import FullDisk, event

_DIES = """
import os, sys
from pathlib import Path
from frontend.billing.charges import Spool
from tests.unit.billing.conftest import event
spool = Spool(Path(sys.argv[1]))
spool.add(event("one"))
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path)
    yield made
    made.close()


def test_removed_charges_are_gone(spool: Spool) -> None:
    for name in "abc":
        spool.add(event(name))
    assert spool.oldest(2) == [(1, event("a")), (2, event("b"))]
    spool.remove(2)
    assert spool.oldest(9) == [(3, event("c"))]


def test_the_length_is_the_number_of_charges(spool: Spool) -> None:
    counts = [len(spool)]
    for name in "abc":
        spool.add(event(name))
    counts.append(len(spool))
    for place in (2, 3):
        spool.remove(place)
        counts.append(len(spool))
    assert counts == [0, 3, 1, 0]


def test_places_are_never_reused(spool: Spool) -> None:
    for name in "ab":
        spool.add(event(name))
    spool.remove(2)
    spool.add(event("c"))
    assert spool.oldest(9) == [(3, event("c"))]


def test_another_process_claims_the_charges_of_a_killed_one(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", _DIES, str(tmp_path)], cwd=ROOT, check=False)
    (orphan,) = Spool.orphans(tmp_path)
    assert (killed.returncode, orphan.oldest(9)) == (-9, [(1, event("one"))])
    orphan.close()


def test_an_orphan_is_claimed_by_one(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.add(event("a"))
    spool.close()
    claimed = list(Spool.orphans(tmp_path))
    assert (len(claimed), list(Spool.orphans(tmp_path))) == (1, [])
    claimed[0].close()


def test_an_empty_one_leaves_no_file(tmp_path: Path) -> None:
    Spool(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_read_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "bad.spool").write_bytes(b"no database" * 1000)
    assert list(Spool.orphans(tmp_path)) == []
    assert (tmp_path / "bad.broken").exists()


def _add(spool: Spool, charges: int) -> None:
    for number in range(charges):
        spool.add(event(str(number)))


def test_a_full_disk_raises(spool: Spool) -> None:
    with FullDisk(spool), pytest.raises(sqlite3.OperationalError, match="full"):
        _add(spool, 100)
    spool.add(event("after"))
    assert spool.oldest(200)[-1][1] == event("after")


def test_a_full_disk_is_noticed_before_a_charge_finds_it(spool: Spool) -> None:
    spool.check()
    with FullDisk(spool), pytest.raises(OSError, match="No space left"):
        spool.check()


def test_a_charge_of_a_version_without_reservations_is_read(spool: Spool) -> None:
    old = vars(event("a")).copy()
    del old["reservation"]
    spool._database.execute("INSERT INTO charges (event) VALUES (?)", (orjson.dumps(old),))
    assert spool.oldest(9) == [(1, event("a"))]


def test_a_long_log_is_moved_into_the_file_and_truncated(
    tmp_path: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontend.billing.charges._LONG_LOG", 0)
    for number in range(50):
        spool.add(event(str(number)))
    (log,) = tmp_path.glob("*.spool-wal")
    size = log.stat().st_size
    spool.tidy()
    spool.check()
    assert (log.stat().st_size < size / 10, len(spool)) == (True, 50)
