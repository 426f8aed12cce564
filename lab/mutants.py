"""Change the core in one place at a time, by a sample of cosmic-ray's mutations, and see which changes tests notice.

    make mutants MUTANTS="--only frontend/dispatch --sample 40"

Each change is made in a copy of the repository. A change that no test notices may be of no consequence.
"""

import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from cosmic_ray.commands.init import init
from cosmic_ray.modules import find_modules
from cosmic_ray.mutating import mutate_and_test, mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.testing import run_tests
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome

_ROOT = Path(__file__).parents[1]
# The core's rooms, and their tests beside those in tests/unit: those over HTTP where the contract is their test.
ROOMS = {
    "frontend/access": "http/test_access http/test_revocation",
    "frontend/audio": "",
    "frontend/billing": "http/test_billing http/test_metrics",
    "frontend/catalogue": "http/test_aliases contract/test_documents",
    "frontend/concurrency": "",
    "frontend/config": "contract/test_documents",
    "frontend/database": "",
    "frontend/dispatch": "http/test_backend_faults",
    "frontend/http": "http/test_answers http/test_connection http/test_cors http/test_ending http/test_server"
    " http/test_unparsed",
    "frontend/middleware": "http/test_access http/test_admin_port http/test_cors http/test_errors http/test_revocation",
    "frontend/operations": "http/test_embeddings http/test_health http/test_rerank http/test_speech"
    " http/test_transcriptions",
    "frontend/parameters": "http/test_added_models http/test_mobile http/test_rerank http/test_transcriptions",
    "frontend/text": "",
    "frontend/tritons": "http/test_backend_faults",
}
# A union of types is no code. Identity in the place of a comparison is nearly always the same.
_NO_CHANGE = re.compile("BitOr|(Eq|[LG]tE?)_Is(Not)?$")
# Nothing assigns to a frozen data class, and without its decorator no object of it can be made.
_DATA_CLASS = "@dataclass"
# A change may make a test wait for ever; all tests of a room together get this many times what they took without it.
_TEST_SECONDS, _TIMES_AS_LONG = 60, 4


def its_tests(room: str) -> list[str]:
    return [room.replace("frontend", "tests/unit"), *(f"tests/{name}.py" for name in ROOMS[room].split())]


def mutations(paths: Sequence[Path], sample: int, seed: int) -> list[MutationSpec]:
    """A sample of the places that can be changed in modules or folders, each with one of its changes, in order."""
    with tempfile.TemporaryDirectory() as folder, use_db(Path(folder) / "work", WorkDB.Mode.create) as work:
        init(sorted(find_modules(paths)), work, {})
        found = [item.mutations[0] for item in work.work_items]
    places = defaultdict(list)
    for each in found:
        line = each.module_path.read_text("utf-8").splitlines()[each.start_pos[0] - 1]
        if not _NO_CHANGE.search(each.operator_name) and not line.startswith(_DATA_CLASS):
            places[each.module_path, each.start_pos].append(each)
    chance = random.Random(seed)
    chosen = chance.sample(sorted(places), min(sample, len(places)))
    tried = (chance.sample(places[place], len(places[place])) for place in sorted(chosen))
    return [change for changes in tried if (change := next(filter(_compiles, changes), None))]


def _compiles(change: MutationSpec) -> bool:
    """Whether a change can be made and causes no warning, which would fail every test."""
    operator = get_operator(change.operator_name)(**change.operator_args)
    try:
        with warnings.catch_warnings(action="error"):
            compile(mutate_code(change.module_path.read_text("utf-8"), operator, change.occurrence), "", "exec")
    except (AttributeError, SyntaxError):
        # An operator knows no dotted names of exceptions.
        return False
    return True


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
            command = f"{python} -m 'not alone' {' '.join(its_tests(room))}"
            noticed = list(_try(command, room, given.sample, given.seed))
            lines.append(f"{room}: {sum(noticed)} of {len(noticed)} changes were noticed")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
