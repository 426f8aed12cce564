"""The proxy that the product ships (Caddy, docker/proxy/Caddyfile), in front of frontends of this machine."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from scripts.local_triton.checks import free_port
from tests.conftest import ROOT

_CONFIG = ROOT / "docker" / "proxy" / "Caddyfile"
_START_SECONDS = 20.0


def caddy() -> str | None:
    """Its path: that of the tests' requirements, or the system's."""
    return shutil.which("caddy", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))


def config(admin_port: int | None) -> str:
    """The product's; with the frontends' admin port, it asks them whether they are ready."""
    text = _CONFIG.read_text(encoding="utf-8")
    assert text.count("\n{\n") == 1
    text = text.replace("\n{\n", "\n{\n\tadmin off\n\tpersist_config off\n")
    if admin_port is not None:
        text = re.sub(r"^\t\t#(?=\w)", "\t\t", text, flags=re.MULTILINE).replace("8081", str(admin_port))
    return text


@contextmanager
def proxy(folder: Path, program: str, frontends: Sequence[str], admin_port: int | None = None) -> Iterator[int]:
    """Run Caddy without TLS in front of these addresses; yields its port."""
    port = free_port()
    (folder / "Caddyfile").write_text(config(admin_port), encoding="utf-8")
    command = [program, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    own = {"DOMAIN": f"http://127.0.0.1:{port}", "FRONTENDS": " ".join(frontends), "HOME": str(folder)}
    with subprocess.Popen(command, env={**os.environ, **own}, stderr=subprocess.DEVNULL) as running:
        try:
            _wait_for(f"http://127.0.0.1:{port}/health/live")
            yield port
        finally:
            running.terminate()


def _wait_for(address: str) -> None:
    ends = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            if time.monotonic() > ends:
                raise
        time.sleep(0.05)
