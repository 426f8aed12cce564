"""Every attack of one caller on the product as ``make run`` starts it: ``python -m tests.faults.attacks``.

Prints, for each, what everybody else had of the service meanwhile; the exit status says whether all of it held:
``/health/live`` under 100 ms at the 95th percentile, memory less than 1.5 GB above that at rest, the same Triton alive,
a company's calls answered within three seconds, and everything free within five seconds afterwards.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access import api_key
from frontend.commands.database import with_database
from frontend.config.reading import PREFIX
from frontend.config.settings import Settings
from scripts.local_triton.checks import free_port
from tests.conftest import ROOT
from tests.eventually import until_ready
from tests.fakes import add_key
from tests.faults.attacks.cases import ATTACKS
from tests.faults.attacks.scene import FREE_SECONDS, PATIENCE, Scene, seconds_until_free
from tests.faults.attacks.witness import Witness, memory

_START_SECONDS = 300
_MOST_HEALTH = 0.1
_MOST_MEMORY = 1.5e9


@contextmanager
def product(folder: Path) -> Iterator[tuple[Scene, int]]:
    """``make run`` on a database of its own; the scene, and the process id of make."""
    port, database = free_port(), f"sqlite:///{folder}/quartet.sqlite3"
    environ = {**os.environ, f"{PREFIX}DATABASE": database, f"{PREFIX}USAGE_FOLDER": str(folder / "usage")}
    environ[f"{PREFIX}EXTENSIONS"] = "all"
    with subprocess.Popen(["make", "run", f"PORT={port}"], cwd=ROOT, env=environ) as make:
        try:
            asyncio.run(until_ready(f"http://127.0.0.1:{port}", _START_SECONDS))
            keys = {tier: api_key.new_key() for tier in ("free", "company")}
            with_database(Settings(database=database), lambda engine: _add(engine, keys))
            yield Scene(port, keys["free"], keys["company"], f"127.0.0.1:{_grpc_port(make.pid)}"), make.pid
        finally:
            make.terminate()


async def _add(engine: AsyncEngine, keys: Mapping[str, str]) -> None:
    for tier, key in keys.items():
        await add_key(engine, key, tier=tier)


def _tritons(pid: int) -> dict[int, list[str]]:
    found = {}
    for process in psutil.Process(pid).children(recursive=True):
        try:
            if process.name() == "tritonserver":
                found[process.pid] = process.cmdline()
        except psutil.NoSuchProcess:
            continue
    return found


def _grpc_port(pid: int) -> int:
    words = [word for words in _tritons(pid).values() for word in words]
    return int(next(word.partition("=")[2] for word in words if word.startswith("--grpc-port")))


def _faults(scene: Scene, healths: list[float], above: float, free: float, *, same_triton: bool) -> Iterator[str]:
    if np.percentile(healths, 95) > _MOST_HEALTH:
        yield "health"
    if above > _MOST_MEMORY:
        yield "memory"
    if not same_triton:
        yield "Triton died"
    if free > FREE_SECONDS:
        yield "not free"
    if any(max(waits) > PATIENCE for waits in scene.waits.values()):
        yield "the company waited"


def run(scene: Scene, pid: int, witness: Witness, names: list[str]) -> int:
    """Attack by attack; answers how many did not hold."""
    rest, failed = memory(pid), 0
    print(f"at rest: {rest / 1e9:.2f} GB")
    for name in names:
        before, began = _tritons(pid).keys(), time.time()
        scene.waits.clear()
        faults = []
        try:
            asyncio.run(ATTACKS[name](scene))
        except AssertionError as error:
            faults.append(str(error))
        seconds = time.time() - began
        free = asyncio.run(seconds_until_free(scene))
        healths = witness.looks("health", began)
        above = max(witness.looks("memory", began), default=rest) - rest
        faults += _faults(scene, healths, above, free, same_triton=_tritons(pid).keys() == before)
        waits = " ".join(f"{what} {max(took):.2f} s;" for what, took in scene.waits.items())
        print(
            f"{name}: {seconds:.0f} s; health p95 {1000 * np.percentile(healths, 95):.0f} ms, "
            f"longest {1000 * max(healths):.0f} ms; memory +{above / 1e9:.2f} GB; free after {free:.1f} s; {waits} "
            f"{', '.join(faults) or 'held'}",
            flush=True,
        )
        failed += bool(faults)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description="Attack the product as one caller can.")
    parser.add_argument("names", nargs="*", help="some of the attacks, by a part of their names")
    arguments = parser.parse_args()
    chosen = [name for name in ATTACKS if not arguments.names or any(part in name for part in arguments.names)]
    with tempfile.TemporaryDirectory() as folder, product(Path(folder)) as (scene, pid):
        witness = Witness(scene.url, pid, Path(folder) / "seen")
        time.sleep(2)
        failed = run(scene, pid, witness, chosen)
    print("everything held" if not failed else f"{failed} did not hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
