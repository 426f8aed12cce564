"""Change the core in one place at a time, by a sample of cosmic-ray's mutations, and see which changes tests notice.

    make mutants MUTANTS="--only frontend/dispatch --sample 40"

Each change is made in a copy of the repository. A change that no test notices may be of no consequence.
"""

import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from cosmic_ray.commands.init import init
from cosmic_ray.modules import find_modules
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome

_ROOT = Path(__file__).parents[1]
# The core's rooms with their tests: those of the room, and of HTTP where the contract is its test.
ROOMS = {
    "frontend/access": "tests/unit/access tests/http/test_access.py tests/http/test_revocation.py",
    "frontend/dispatch": "tests/unit/dispatch tests/http/test_backend_faults.py",
    "frontend/http": "tests/unit/http tests/http/test_answers.py tests/http/test_errors.py tests/http/test_server.py "
    "tests/http/test_uploads.py",
    "frontend/operations": "tests/unit/operations tests/http/test_embeddings.py tests/http/test_rerank.py "
    "tests/http/test_speech.py tests/http/test_transcriptions.py",
    "frontend/billing": "tests/unit/billing tests/http/test_billing.py",
}
# A union of types is no code.
_NOT_CODE = "BitOr"
# A change may make a test wait for ever; all tests of a room together get this many times what they took without it.
_TEST_SECONDS, _TIMES_AS_LONG = 60, 4


def mutations(paths: Sequence[Path], sample: int, seed: int) -> list[MutationSpec]:
    """A sample of the places that can be changed in modules or folders, each with one of its changes, in order."""
    with tempfile.TemporaryDirectory() as folder, use_db(Path(folder) / "work", WorkDB.Mode.create) as work:
        init(sorted(find_modules(paths)), work, {})
        found = [item.mutations[0] for item in work.work_items]
    places = defaultdict(list)
    for each in found:
        if _NOT_CODE not in each.operator_name:
            places[each.module_path, each.start_pos].append(each)
    chance = random.Random(seed)
    chosen = chance.sample(sorted(places), min(sample, len(places)))
    return [chance.choice(places[place]) for place in sorted(chosen)]


def _copied(folder: Path) -> Path:
    """Copy the files of git, and link the exported models, to which tests do not write."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=_ROOT, text=True).split("\0"):
        if (_ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(_ROOT / name, folder / name, follow_symlinks=False)
    for exported in _ROOT.glob("model_repository/*/1/**/*"):
        target = folder / exported.relative_to(_ROOT)
        if exported.is_file() and "__pycache__" not in exported.parts and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(exported)
    return folder


def _changed_lines(diff: str) -> str:
    """The lines of a diff that begin with a sign, and the place."""
    return "\n".join(line for line in diff.splitlines() if line[:1] in "+-@" and not line.startswith(("---", "+++")))


def _try(command: str, room: str, sample: int, seed: int) -> Iterator[bool]:
    """Whether tests noticed each change; prints each. ``ValueError`` if the tests fail without any."""
    begun = time.monotonic()
    outcome, output = run_tests(command, None)
    if outcome != TestOutcome.SURVIVED:
        raise ValueError(f"the tests of {room} fail as it is:\n{output[-2000:]}")
    seconds = _TIMES_AS_LONG * (time.monotonic() - begun) + _TEST_SECONDS
    for each in mutations([Path(room)], sample, seed):
        result = mutate_and_test([each], command, seconds)
        by = [line for line in (result.output or "").splitlines() if line.startswith(("FAILED", "ERROR"))]
        print(f"{'noticed' if result.is_killed else 'NOT NOTICED'}  {each.module_path}  {(by or [''])[0][:150]}")
        print(_changed_lines(result.diff or ""), flush=True)
        yield result.is_killed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=ROOMS, action="append", help="a room of the core (default: all)")
    parser.add_argument("--sample", type=int, default=40, help="places of each room that are changed (default: 40)")
    parser.add_argument("--seed", type=int, default=0, help="another number takes other places")
    given = parser.parse_args()
    python = f"{shlex.quote(sys.executable)} -m pytest -x -q --tb=no -p no:cacheprovider --timeout={_TEST_SECONDS}"
    rooms, lines = given.only or list(ROOMS), []
    with tempfile.TemporaryDirectory(prefix="quartet-mutants-") as folder:
        os.chdir(_copied(Path(folder)))
        for room in rooms:
            noticed = list(_try(f"{python} -m 'not alone' {ROOMS[room]}", room, given.sample, given.seed))
            lines.append(f"{room}: {sum(noticed)} of {len(noticed)} changes were noticed")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
