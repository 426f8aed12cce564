#!/opt/quartet/bin/python
"""Replaces this process by the embedded ``tritonserver``, with the same arguments."""

import os
import sys
from pathlib import Path

_APP = Path("/app")
sys.path.insert(0, str(_APP))

from scripts.local_triton import assemble, checks  # noqa: E402 - found by the line above

wheel = checks.find_wheel()
folders = [f"--backend-directory={_APP / 'backends'}", f"--cache-directory={wheel.caches}"]
values = assemble.environment(wheel, checks.find_libpython(), Path(sys.executable))
os.execve(wheel.server, [str(wheel.server), *folders, *sys.argv[1:]], values)
