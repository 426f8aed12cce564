"""The metrics of this process or of all workers, and the totals of workers that ended."""

import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.openmetrics import exposition as openmetrics

from frontend.observe import METRICS_FOLDER

_LOCK = "lock"
# Files of values that only grow, by process id. One file without an id has the totals of ended workers.
_COUNTED = re.compile(r"(counter|histogram)_(\d+)\.db")
_OF_THE_DEAD = 0


@dataclass(frozen=True)
class Format:
    content_type: str
    write: Callable[[CollectorRegistry], bytes]


TEXT = Format("text/plain; version=0.0.4; charset=utf-8", generate_latest)
OPENMETRICS = Format("application/openmetrics-text; version=1.0.0; charset=utf-8", openmetrics.generate_latest)


def metrics(form: Format = TEXT) -> bytes:
    """Every metric of this process, or of all workers."""
    if METRICS_FOLDER not in os.environ:
        return form.write(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    with _locked(Path(os.environ[METRICS_FOLDER]), fcntl.LOCK_SH):
        return form.write(registry)


def forget_process(pid: int, folder: str) -> None:
    """Drop the gauges of an ended worker and add its counts to the totals of ended workers.

    If another worker reads at that moment, the files stay until the next worker ends. No sum changes.
    """
    mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
    with suppress(BlockingIOError), _locked(Path(folder), fcntl.LOCK_EX | fcntl.LOCK_NB):
        for path in sorted(Path(folder).iterdir()):
            found = _COUNTED.fullmatch(path.name)
            if found is not None and int(found[2]) != _OF_THE_DEAD and not Path(f"/proc/{found[2]}").exists():
                _move(path, path.with_name(f"{found[1]}_{_OF_THE_DEAD}.db"))


def _move(path: Path, sums: Path) -> None:
    """Add a file's counts to ``sums`` and remove it, while no worker reads."""
    total = MmapedDict(str(sums))  # type: ignore[no-untyped-call]
    for key, value, _, _ in MmapedDict.read_all_values_from_file(str(path)):  # type: ignore[no-untyped-call]
        total.write_value(key, total.read_value(key)[0] + value, 0.0)  # type: ignore[no-untyped-call]
    total.close()  # type: ignore[no-untyped-call]
    path.unlink()


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
