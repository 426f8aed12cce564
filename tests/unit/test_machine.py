"""Processors and memory there are to use, with cgroups laid out below a folder as the kernel shows them."""

import os
from pathlib import Path

import pytest

from scripts.machine import cores, gpu_memory_bytes, memory_bytes, processors

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _sixteen_processors_and_64_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 64 * GIB // 4096}.__getitem__)


def _write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n", encoding="utf-8")
    return root


def test_without_limits_it_is_the_whole_machine(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "max 100000", "sys/fs/cgroup/memory.max": "max"}
    root = _write(tmp_path, files)
    assert (processors(root), memory_bytes(root)) == (16, 64 * GIB)


def test_a_system_without_cgroups_is_the_whole_machine(tmp_path: Path) -> None:
    assert (processors(tmp_path), memory_bytes(tmp_path)) == (16, 64 * GIB)


def test_affinity_alone_is_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 7})
    assert processors(tmp_path) == 2


@pytest.mark.parametrize(
    ("quota", "expected"), [("400000 100000", 4), ("150000 100000", 2), ("1000 100000", 1), ("9900000 100000", 16)]
)
def test_a_quota_of_v2_is_a_limit(tmp_path: Path, quota: str, expected: int) -> None:
    root = _write(tmp_path, {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": quota})
    assert processors(root) == expected


def test_the_smallest_limit_of_all_cgroups_counts(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/outer/inner",
        "sys/fs/cgroup/outer/cpu.max": "200000 100000",
        "sys/fs/cgroup/outer/inner/cpu.max": "800000 100000",
        "sys/fs/cgroup/outer/memory.max": str(8 * GIB),
        "sys/fs/cgroup/outer/inner/memory.max": str(4 * GIB),
    }
    root = _write(tmp_path, files)
    assert (processors(root), memory_bytes(root)) == (2, 4 * GIB)


def test_another_cgroup_is_no_limit(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/ours",
        "sys/fs/cgroup/theirs/cpu.max": "100000 100000",
        "sys/fs/cgroup/theirs/memory.max": str(GIB),
    }
    root = _write(tmp_path, files)
    assert (processors(root), memory_bytes(root)) == (16, 64 * GIB)


V1 = {
    "proc/self/cgroup": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
}


def test_limits_of_v1_are_read_where_a_container_sees_them(tmp_path: Path) -> None:
    limits = {"cpu/cpu.cfs_quota_us": "300000", "memory/memory.limit_in_bytes": str(6 * GIB)}
    root = _write(tmp_path, V1 | {f"sys/fs/cgroup/{name}": text for name, text in limits.items()})
    assert (processors(root), memory_bytes(root)) == (3, 6 * GIB)


def test_v1_without_limits_is_the_whole_machine(tmp_path: Path) -> None:
    limits = {"cpu/cpu.cfs_quota_us": "-1", "memory/memory.limit_in_bytes": "9223372036854771712"}
    root = _write(tmp_path, V1 | {f"sys/fs/cgroup/{name}": text for name, text in limits.items()})
    assert (processors(root), memory_bytes(root)) == (16, 64 * GIB)


def test_this_machine_has_a_processor_and_memory() -> None:
    assert processors() >= 1
    assert memory_bytes() > 0


def _topology(root: Path, siblings: int, nodes: int) -> Path:
    """16 processors: ``siblings`` neighbours share a core, and as many nodes share the processors."""
    system, size = "sys/devices/system", 16 // nodes
    firsts = {number: number - number % siblings for number in range(16)}
    files = {
        f"{system}/cpu/cpu{number}/topology/thread_siblings_list": f"{first}-{first + siblings - 1}"
        for number, first in firsts.items()
    }
    files |= {f"{system}/node/node{at}/cpulist": f"{at * size}-{at * size + size - 1}" for at in range(nodes)}
    return _write(root, files)


@pytest.mark.parametrize(("siblings", "nodes", "found"), [(1, 1, 16), (2, 1, 8), (1, 2, 8), (2, 2, 4)])
def test_hyper_threads_of_a_core_count_once_and_other_nodes_do_not_count(
    tmp_path: Path, siblings: int, nodes: int, found: int
) -> None:
    assert cores(_topology(tmp_path, siblings, nodes)) == found


def test_without_topology_there_are_as_many_cores_as_processors(tmp_path: Path) -> None:
    assert cores(tmp_path) == 16


def test_no_more_cores_are_counted_than_a_quota_allows(tmp_path: Path) -> None:
    root = _topology(tmp_path, 1, 1)
    _write(root, {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "250000 100000"})
    assert cores(root) == 3


@pytest.mark.parametrize(
    ("answer", "mebibytes"),
    [
        ("echo '81559, Disabled'; echo '46068, [N/A]'", 46_068),
        ("echo '81559, Enabled'", 0),
        ("echo '[N/A], [N/A]'", 0),
        ("echo 'No devices were found'; exit 6", 0),
    ],
    ids=["two GPUs", "divided", "shared with the processor", "no device"],
)
def test_the_memory_of_the_smallest_gpu_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, mebibytes: int
) -> None:
    command = tmp_path / "nvidia-smi"
    command.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert gpu_memory_bytes() == mebibytes * 2**20


def test_a_machine_without_nvidias_driver_has_no_memory_of_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu_memory_bytes() == 0
