"""How much of this machine there is to use: processors, cores and memory, the limits of a container included; and what
is taken and installed.
"""

import math
import os
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

# What cgroup v2 writes where there is no limit.
_NO_LIMIT = "max"


def processors(root: Path = Path("/")) -> int:
    """Processors this process may run on at once, at least 1: its affinity and its cgroups' quotas, rounded up."""
    return max(1, min([len(os.sched_getaffinity(0)), *map(math.ceil, _quotas(root))]))


def cores(root: Path = Path("/")) -> int:
    """Cores this process may compute on at once, at least 1: of a core's hyper-threads one, of NUMA nodes the largest.

    Threads of one run share caches and sums: a second hyper-thread adds no unit that multiplies, another node's memory
    is far away.
    """
    allowed = os.sched_getaffinity(0)
    system = root / "sys/devices/system"
    siblings = {
        _text(system / f"cpu/cpu{number}/topology/thread_siblings_list") or str(number): number for number in allowed
    }
    whole = set(siblings.values())
    nodes = [whole & _numbers(_text(path)) for path in system.glob("node/node*/cpulist")]
    return max(1, min(max(map(len, nodes), default=0) or len(whole), processors(root)))


def _text(path: Path) -> str:
    return path.read_text(encoding="ascii").strip() if path.is_file() else ""


def _numbers(text: str) -> set[int]:
    """The processors of a list as Linux writes it: ``0-3,8``."""
    ranges = [part.partition("-") for part in text.split(",") if part]
    return {number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)}


def memory_bytes(root: Path = Path("/")) -> int:
    """Bytes of memory this process may use: the machine's, or the least that its cgroups allow."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    texts = [*_read(root, "", "memory.max"), *_read(root, "memory", "memory.limit_in_bytes")]
    return min([physical, *(int(text) for text in texts if text != _NO_LIMIT)])


def held_bytes(field: str, process: int | str = "self") -> int:
    """Bytes of memory that a process holds, by their name in its status: VmRSS, VmHWM or RssAnon; 0 of an ended one."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    _, _, rest = status.partition(f"{field}:")
    return int(rest.split()[0]) * 1024 if rest else 0


def versions(packages: Iterable[str], missing: str) -> dict[str, str]:
    """Of the packages that are installed, and ``missing`` for the others."""
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = missing
    return found


def _quotas(root: Path) -> Iterator[float]:
    """In processors; those of v2 are quota and period in one file."""
    first = zip(*(_read(root, "cpu", f"cpu.cfs_{name}_us") for name in ("quota", "period")), strict=True)
    for quota, period in (*first, *(text.split() for text in _read(root, "", "cpu.max"))):
        if quota != _NO_LIMIT and int(quota) > 0:
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
