"""Programs of the system that some tests need: a browser and Prometheus. Without one, its tests are skipped.

    python -m tests.tools browser

ends with status 1 if the machine has none. In CI (the variable ``CI``) a missing program is an error.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_BROWSERS = ("chromium", "google-chrome", "google-chrome-stable", "chrome", "chromium-browser", "microsoft-edge")
_PLAYWRIGHTS = ("chromium-*/chrome-linux*/chrome", "chromium_headless_shell-*/chrome-*/*headless?shell")
_UNPACKED = _ROOT / ".venv" / "prometheus" / "usr" / "bin"


def browser() -> str | None:
    """The path of a Chromium or Chrome that starts: the system's, or the one that Playwright downloads."""
    downloads = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    own = [str(path) for pattern in _PLAYWRIGHTS for path in sorted(downloads.glob(pattern), reverse=True)]
    return next(filter(_starts, filter(None, [*map(shutil.which, _BROWSERS), *own])), None)


def prometheus(name: str = "prometheus") -> str | None:
    """The path of ``prometheus`` or ``promtool``, as installed or as unpacked by the Makefile."""
    return shutil.which(name) or shutil.which(name, path=str(_UNPACKED))


def needed(path: str | None, what: str) -> str:
    """The path, or the end of the test that has none: skipped, and failed in CI."""
    if path is None and os.environ.get("CI"):
        pytest.fail(f"there is no {what}, and CI leaves out no test")
    if path is None:
        pytest.skip(f"left out, because there is no {what} here")
    return path


def _starts(path: str) -> bool:
    """Whether the program tells its version. Ubuntu has a chromium-browser that only tells how to install one."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


if __name__ == "__main__":
    found = browser() if sys.argv[1] == "browser" else prometheus() and prometheus("promtool")
    print(found or f"there is no {sys.argv[1]}")
    sys.exit(found is None)
