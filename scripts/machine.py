"""How much of this machine there is to use: processors and memory, the limits of a container included."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

# What cgroup v2 writes where there is no limit.
_NO_LIMIT = "max"


def processors(root: Path = Path("/")) -> int:
    """Processors this process may run on at once, at least 1: its affinity and its cgroups' quotas, rounded up."""
    quotas = [*_quotas_v2(root), *_quotas_v1(root)]
    return max(1, min([len(os.sched_getaffinity(0)), *(math.ceil(quota) for quota in quotas)]))


def memory_bytes(root: Path = Path("/")) -> int:
    """Bytes of memory this process may use: the machine's, or the least that its cgroups allow."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    texts = [*_read(root, "", "memory.max"), *_read(root, "memory", "memory.limit_in_bytes")]
    return min([physical, *(int(text) for text in texts if text != _NO_LIMIT)])


def _quotas_v2(root: Path) -> Iterator[float]:
    for text in _read(root, "", "cpu.max"):
        quota, period = text.split()
        if quota != _NO_LIMIT:
            yield int(quota) / int(period)


def _quotas_v1(root: Path) -> Iterator[float]:
    quotas, periods = (_read(root, "cpu", f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    for quota, period in zip(quotas, periods, strict=True):
        if int(quota) > 0:
            yield int(quota) / int(period)


def _read(root: Path, controller: str, file: str) -> Iterator[str]:
    """What ``file`` says in this process's cgroup and in each that it lies in; v2 has no ``controller``."""
    mounted = root / "sys/fs/cgroup" / controller
    for inner in (path for name, path in _cgroups(root) if controller in name):
        # A container sees its own cgroup at the mount, whatever the path in /proc says.
        for folder in (inner, *inner.parents):
            path = mounted / folder.relative_to("/") / file
            if path.is_file():
                yield path.read_text(encoding="ascii").strip()


def _cgroups(root: Path) -> Iterator[tuple[list[str], Path]]:
    """Controllers and path of each hierarchy that this process is in; that of v2 has one controller without a name."""
    path = root / "proc/self/cgroup"
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        _, controllers, inner = line.split(":", 2)
        yield controllers.split(","), Path(inner)
