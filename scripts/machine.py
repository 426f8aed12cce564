"""Processors, cores and memory that this process may use, with a container's limits; memory in use; versions."""

import math
import os
import subprocess
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

# cgroup v2's word for no limit.
_NO_LIMIT = "max"
# nvidia-smi may hang if the driver is at fault.
_ASK_SECONDS = 20


def processors(root: Path = Path("/")) -> int:
    """Processors that this process may use, at least 1: its affinity and its cgroups' quotas, rounded up."""
    return max(1, min([len(os.sched_getaffinity(0)), *map(math.ceil, _quotas(root))]))


def cores(root: Path = Path("/")) -> int:
    """Cores that one run of a model may use, at least 1, without hyper-threads, on the largest NUMA node.

    A second hyper-thread adds no multiplier, and the memory of another node is slow.
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
    """The numbers of a list in Linux's form: ``0-3,8``."""
    ranges = [part.partition("-") for part in text.split(",") if part]
    return {number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)}


def memory_bytes(root: Path = Path("/")) -> int:
    """Bytes of memory that this process may use: the machine's, or the smallest limit of its cgroups."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    texts = [*_read(root, "", "memory.max"), *_read(root, "memory", "memory.limit_in_bytes")]
    return min([physical, *(int(text) for text in texts if text != _NO_LIMIT)])


def gpu_memory_bytes() -> int:
    """Bytes of memory of the smallest GPU here; 0 if there is none, or if its memory is shared or divided (MIG)."""
    query = ["nvidia-smi", "--query-gpu=memory.total,mig.mode.current", "--format=csv,noheader,nounits"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, timeout=_ASK_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    gpus = [line.split(", ") for line in found.splitlines()]
    return min((int(size) << 20 if size.isdecimal() and mig != "Enabled" else 0 for size, mig in gpus), default=0)


def held_bytes(field: str, process: int | str = "self") -> int:
    """Bytes of memory of a process, by the name in its status: VmRSS, VmHWM or RssAnon; 0 if it ended."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    _, _, rest = status.partition(f"{field}:")
    return int(rest.split()[0]) * 1024 if rest else 0


def versions(packages: Iterable[str], missing: str) -> dict[str, str]:
    """The version of each package, or ``missing``."""
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = missing
    return found


def _quotas(root: Path) -> Iterator[float]:
    """Quotas in processors. cgroup v2 has quota and period in one file."""
    first = zip(*(_read(root, "cpu", f"cpu.cfs_{name}_us") for name in ("quota", "period")), strict=True)
    for quota, period in (*first, *(text.split() for text in _read(root, "", "cpu.max"))):
        if quota != _NO_LIMIT and int(quota) > 0:
            yield int(quota) / int(period)


def _read(root: Path, controller: str, file: str) -> Iterator[str]:
    """The contents of ``file`` in this process's cgroup and its parents. cgroup v2 has no ``controller``."""
    mounted = root / "sys/fs/cgroup" / controller
    for inner in (path for name, path in _cgroups(root) if controller in name):
        # A container sees its own cgroup at the mount, whatever the path in /proc says.
        for folder in (inner, *inner.parents):
            path = mounted / folder.relative_to("/") / file
            if path.is_file():
                yield path.read_text(encoding="ascii").strip()


def _cgroups(root: Path) -> Iterator[tuple[list[str], Path]]:
    """Controllers and path of each hierarchy of this process. That of v2 has one controller with an empty name."""
    path = root / "proc/self/cgroup"
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        _, controllers, inner = line.split(":", 2)
        yield controllers.split(","), Path(inner)
