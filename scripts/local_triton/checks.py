"""Checks of the machine before Triton starts. Each error is one sentence."""

import platform
import re
import socket
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

_LEAST_GLIBC = (2, 35)
# The state of a listening socket in the kernel's table.
_LISTENS = "0A"
# Characters that a path may not have: those special to a shell, the colon, and all beyond ASCII.
_FORBIDDEN = re.compile(r"[^\w/.+=,@%-]", re.ASCII)


class PreflightError(Exception):
    """The embedded Triton cannot run here. The message gives the reason and the remedy."""


@dataclass(frozen=True)
class Wheel:
    """Paths of the installed ``nvidia-pytriton`` wheel."""

    server: Path
    libraries: Path
    caches: Path
    python_backend: Path
    stub: Path


def find_wheel() -> Wheel:
    """Locate the wheel's files without importing its package."""
    try:
        root = Path(str(metadata.distribution("nvidia-pytriton").locate_file("")))
    except metadata.PackageNotFoundError:
        raise PreflightError("nvidia-pytriton is not installed; run 'make install'") from None
    triton = root / "pytriton" / "tritonserver"
    return Wheel(
        server=triton / "bin" / "tritonserver",
        libraries=root / "nvidia_pytriton.libs",
        caches=triton / "caches",
        python_backend=triton / "backends" / "python",
        stub=triton / "python_backend_stubs" / sysconfig.get_python_version() / "triton_python_backend_stub",
    )


def check_glibc(version: str | None = None) -> None:
    """The binary needs glibc 2.35. ``version`` is by default this machine's."""
    name, found = platform.libc_ver() if version is None else ("glibc", version)
    least = ".".join(map(str, _LEAST_GLIBC))
    parts = tuple(int(part) for part in found.split(".")[:2]) if found else (0,)
    if name != "glibc" or parts < _LEAST_GLIBC:
        raise PreflightError(f"the Triton binary needs glibc {least} or newer, this machine has {name} {found}")


def check_numpy(version: str | None = None) -> None:
    """With NumPy 2, Triton 2.51's stub returns empty arrays without an error."""
    found = metadata.version("numpy") if version is None else version
    if int(found.split(".")[0]) >= 2:
        raise PreflightError(
            f"NumPy {found} makes Triton's Python models answer empty arrays; install numpy<2 ('make install')"
        )


def check_stub(wheel: Wheel) -> None:
    """Check that the wheel has a stub for this Python."""
    if not wheel.stub.is_file():
        raise PreflightError(
            f"the Triton wheel has no Python stub for Python {sysconfig.get_python_version()}; use 3.11 or 3.12"
        )


def find_libpython(directories: list[Path] | None = None) -> Path:
    """The folder with the ``libpython`` that the stub links."""
    name = f"libpython{sysconfig.get_python_version()}.so.1.0"
    machine = f"/usr/lib/{platform.machine()}-linux-gnu"
    known = [Path(str(sysconfig.get_config_var("LIBDIR"))), Path(machine), Path("/usr/lib64"), Path("/usr/lib")]
    for directory in known if directories is None else directories:
        if (directory / name).exists():
            return directory
    raise PreflightError(
        f"{name} was not found; install it (on Debian: apt-get install libpython{sysconfig.get_python_version()})"
    )


def check_path(path: Path) -> None:
    """Triton passes paths of Python models to a shell without quotes, and its stub reads them as ASCII."""
    if found := _FORBIDDEN.search(str(path)):
        raise PreflightError(
            f"Triton cannot run in {path}, because of the {found[0]!r}: use a folder whose whole path has "
            "only A-Z, a-z, 0-9 and / . _ - + = , @ %"
        )


def check_port(port: int) -> None:
    """Check that a port of the loopback interface is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError:
            raise PreflightError(f"port {port} is for the superuser alone; choose another from 1024 on") from None
        except OSError:
            raise PreflightError(f"port {port} is busy{_listener(port)} or choose another") from None


def _listener(port: int) -> str:
    """Who listens on a port, as far as the system tells this user."""
    sockets = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        lines = table.read_text(encoding="utf-8").splitlines()[1:] if table.is_file() else []
        for _, local, _, state, *_, inode in (line.split()[:10] for line in lines):
            if state == _LISTENS and int(local.rpartition(":")[2], 16) == port:
                sockets.add(f"socket:[{inode}]")
    for opened in Path("/proc").glob("[0-9]*/fd/*") if sockets else ():
        # Processes may end meanwhile, and those of others cannot be read.
        with suppress(OSError):
            if str(opened.readlink()) in sockets:
                process = opened.parents[1]
                name = (process / "comm").read_text(encoding="utf-8").strip()
                return f", {name} (process {process.name}) listens there; stop it"
    return "; stop what listens there"


def free_port() -> int:
    """A free port of the loopback interface that the kernel assigns to no one else for a minute.

    A connection in TIME_WAIT reserves it, except for servers that set SO_REUSEADDR, as all do. The method is that of
    Yelp's ephemeral-port-reserve.
    """
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        with socket.create_connection(listening.getsockname()) as asking:
            # The side that closes first goes to TIME_WAIT.
            listening.accept()[0].close()
            asking.recv(1)
        return int(listening.getsockname()[1])
