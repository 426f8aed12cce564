"""Runs commands with one line of progress each."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.local_triton.child import die_with_parent

_POLL_SECONDS = 0.1
# What pip and uv say of an index that does not answer, and how they name it.
_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeoutError|ReadTimeoutError|NameResolutionError|ProxyError|SSLError"
    r"|client error \(Connect\)|dns error|operation timed out"
)
_INDEX = re.compile(r"Looking in indexes: ([^\s,]+)|Failed to fetch: `?([^\s`]+)")


class StepFailedError(Exception):
    """A command failed. The message names the log and quotes its last line."""


class Steps:
    """Runs commands one after another and writes their output to ``log``."""

    def __init__(self, log: Path) -> None:
        self._log = log
        log.unlink(missing_ok=True)

    def run(self, title: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Run a command in this process's environment plus ``environment``; raise ``StepFailedError`` if it fails."""
        if not self.tried(title, command, environment):
            self.check_reached(title)
            raise StepFailedError(f"{title}: failed ({self._last_line()}); {self._log} has its output")

    def check_reached(self, title: str) -> None:
        """Raise ``StepFailedError`` if the last command could not reach its package index."""
        output = self._log.read_text(encoding="utf-8", errors="replace").rpartition("\n$ ")[2]
        if _UNREACHABLE.search(output):
            named = _INDEX.search(output)
            index = (named[1] or named[2]) if named else "PyPI"
            raise StepFailedError(
                f"{title}: the package index {index} cannot be reached; name another by PIP_INDEX_URL, or a proxy by "
                f"HTTPS_PROXY; {self._log} has the output"
            )

    def tried(self, title: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> bool:
        """Run a command that has an alternative, and return whether it worked."""
        started = time.monotonic()
        shown = sys.stdout.isatty()
        print(f"  {title} ...", end="", flush=True)
        with self._log.open("ab") as log:
            log.write(f"\n$ {' '.join(command)}\n".encode())
            log.flush()
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # No virtual environment takes pip's setting "user", which some machines have for all others.
                env={**os.environ, "PIP_USER": "0", **(environment or {})},
                preexec_fn=die_with_parent,
            )
            while process.poll() is None:
                time.sleep(_POLL_SECONDS)
                if shown:
                    print(f"\r  {title} ... {time.monotonic() - started:.0f} s", end="", flush=True)
        print("" if shown else f" {time.monotonic() - started:.0f} s", flush=True)
        return process.returncode == 0

    def _last_line(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
