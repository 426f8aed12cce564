"""Put every fault of the table into a copy of the repository, one at a time, and report which test noticed it.

    python -m lab.mutants [--jobs 2] [--only frontend/usage]

Exits with 1 if no test noticed a fault, or a fault could not be inserted.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from lab.mutants.faults import CannotInsertError, Fault, load

_ROOT = Path(__file__).parents[2]
# Seconds for a test and for all tests of a fault, which may make a test hang.
_TEST_SECONDS, _ALL_SECONDS = 120, 900
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_NOTHING_RAN, _ALL_PASSED = 5, 0
_TRIES = 3


@dataclass(frozen=True)
class Finding:
    """The result of a fault: ``seen`` if a test failed; ``by`` is the test, or why there is none."""

    seen: bool
    by: str


def _copy(folder: Path) -> Path:
    """Copy the files of git, and link the exported models, to which tests do not write."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=_ROOT, text=True).split("\0"):
        if name and (_ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(_ROOT / name, target, follow_symlinks=False)
    for exported in _ROOT.glob("model_repository/*/1/**/*"):
        target = folder / exported.relative_to(_ROOT)
        if exported.is_file() and "__pycache__" not in exported.parts and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(exported)
    if (_ROOT / "build").is_dir():
        shutil.copytree(_ROOT / "build", folder / "build")
    return folder


def _run(copy: Path, tests: Sequence[str]) -> Finding:
    """Run tests until one fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    command += [f"--timeout={_TEST_SECONDS}", *tests]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    try:
        ran = subprocess.run(
            command, cwd=copy, env=environ, capture_output=True, text=True, timeout=_ALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Finding(True, f"the tests did not end in {_ALL_SECONDS} s")
    if ran.returncode in (_ALL_PASSED, _NOTHING_RAN):
        return Finding(False, "no test ran" if ran.returncode else "every test passed")
    found = _FAILED.search(ran.stdout)
    return Finding(True, found[1] if found else (ran.stdout + ran.stderr).strip().splitlines()[-1])


def _ask(copy: Path, tests: Sequence[str]) -> Finding:
    """The test that fails, if it fails again: on a busy machine, some fail by chance."""
    passed_over: list[str] = []
    for _ in range(_TRIES):
        finding = _run(copy, [*tests, *passed_over])
        if not finding.seen or "::" not in finding.by or _run(copy, [finding.by]).seen:
            return finding
        passed_over.append(f"--deselect={finding.by}")
    return Finding(False, "tests failed, each of them once only")


def _write(path: Path, text: str) -> None:
    """Write a file with a new second in its time, or Python would use the compiled old one."""
    before = int(path.stat().st_mtime)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (before + 1, before + 1))


def try_one(fault: Fault, copies: SimpleQueue[Path]) -> Finding:
    """Put a fault into a free copy, run the tests, and take it out again."""
    copy = copies.get()
    path = copy / fault.file
    try:
        whole = path.read_text(encoding="utf-8")
        _write(path, fault.in_text(whole))
        try:
            return _ask(copy, fault.tests)
        finally:
            _write(path, whole)
    except (CannotInsertError, FileNotFoundError) as error:
        return Finding(False, str(error))
    finally:
        copies.put(copy)


def _one_line(text: str) -> str:
    return " ".join(text.split()) or "(nothing)"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.mutants", description="See which tests notice faults.")
    parser.add_argument("--jobs", type=int, default=2, help="faults tried at the same time")
    parser.add_argument("--only", default="", help="only files whose path begins like this")
    given = parser.parse_args()
    faults = [fault for fault in load() if fault.file.startswith(given.only)]
    unseen, copies = 0, SimpleQueue[Path]()
    with tempfile.TemporaryDirectory(prefix="quartet-mutants-") as folder, ThreadPoolExecutor(given.jobs) as jobs:
        for number in range(given.jobs):
            copies.put(_copy(Path(folder) / str(number)))
        for fault, finding in zip(faults, jobs.map(lambda fault: try_one(fault, copies), faults), strict=True):
            unseen += not finding.seen
            what = f"{fault.file}  {_one_line(fault.find)} -> {_one_line(fault.put)}"
            print(f"{'seen  ' if finding.seen else 'UNSEEN'} {what}\n         {finding.by}", flush=True)
    print(f"{len(faults) - unseen} of {len(faults)} faults were noticed")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
