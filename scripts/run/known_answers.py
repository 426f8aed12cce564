"""Compares the real models with published answers after an export, and after each change of the models.

    python -m scripts.run.known_answers --models hub

starts the product on a free port, for exports that are not run here. ``--facts`` names another file of facts, which
'quartet verify --record' wrote for models that are not the published ones.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C ends it at once, without a traceback, even if the caller ignores SIGINT.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from client.verify.facts import path_of
from frontend.catalogue.exports import read_export
from frontend.config.reading import PREFIX
from frontend.database.engine import DATABASE_FAILURES
from scripts.local_triton.checks import PreflightError, free_port
from scripts.local_triton.child import die_with_parent
from scripts.local_triton.server import TritonFailedError
from scripts.run import preflight
from scripts.run.preflight import Choice
from scripts.run.signals import INTERRUPTED, interruptible
from scripts.run.stack import Stack
from scripts.run.state import BUILD, REPOSITORY

_VERIFIED = BUILD / "known-answers.sha256"
TABLE = BUILD / "known-answers.txt"
_TEXT_MODELS = ("m3_embedder", "m3_reranker")
_WATCH_SECONDS = 0.2
_ON_CUDA = "exports in fp16 run on CUDA only: check the running product with 'quartet verify'"


def variables(choice: Choice, repository: Path = REPOSITORY) -> dict[str, str]:
    """The facts about the models and the text models' precision, as ``quartet verify`` reads them.

    No precision is named if they have several: ``quartet verify`` then takes the widest tolerance.
    """
    facts, precisions = choice.known_facts, {_precision(repository, model) for model in _TEXT_MODELS} - {""}
    found = {"FACTS": facts, "PRECISION": precisions.pop() if len(precisions) == 1 else ""}
    return {f"{PREFIX}{name}": value for name, value in found.items() if value}


def _precision(repository: Path, model: str) -> str:
    """The precision of a text model, or empty if it could not be exported."""
    path = repository / model / "1" / "quartet.json"
    if not path.is_file() or read_export(repository, model).failed:
        return ""
    return str(json.loads(path.read_text(encoding="utf-8"))["precision"])


def verify(
    choice: Choice,
    values: Mapping[str, str],
    repository: Path = REPOSITORY,
    watch: Callable[[], None] = lambda: None,
) -> bool:
    """Verify the product at ``values``, unless there are no facts about its models or an earlier start verified them.

    The table goes to ``TABLE``, its last line to standard output. With large models this takes minutes: ``watch`` is
    called repeatedly, and an exception from it ends the check. Returns whether all facts hold.
    """
    if not choice.is_verified:
        return True
    digest = _digest(values[f"{PREFIX}FACTS"], repository)
    if _VERIFIED.is_file() and _VERIFIED.read_text(encoding="utf-8") == digest:
        return True
    print(f"comparing the models with known answers ({values[f'{PREFIX}FACTS']}), for some minutes", flush=True)
    command = [sys.executable, "-m", "client", "verify"]
    if all((repository / model / "1" / "tokenizer.json").is_file() for model in _TEXT_MODELS):
        command += ["--models", str(repository)]
    environ = {**os.environ, **values}
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent
    ) as client:
        try:
            table = _table(client, watch)
        except BaseException:
            client.kill()
            raise
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(table, encoding="utf-8")
    print("".join(table.splitlines()[-1:]) + f"; {TABLE} has the table", flush=True)
    if client.returncode == 0:
        _VERIFIED.write_text(digest, encoding="utf-8")
        return True
    _VERIFIED.unlink(missing_ok=True)
    print(
        f"\nTHE MODELS DO NOT ANSWER AS THEY SHOULD; {TABLE} has the table, and the next start asks again.\n",
        file=sys.stderr,
        flush=True,
    )
    return False


def _table(client: subprocess.Popen[str], watch: Callable[[], None]) -> str:
    while True:
        try:
            return client.communicate(timeout=_WATCH_SECONDS)[0]
        except subprocess.TimeoutExpired:
            watch()


def _digest(facts: str, repository: Path) -> str:
    """A digest of the facts and of what the models were made from."""
    digest = hashlib.sha256(facts.encode())
    known = path_of(facts)
    for path in (*([known] if known.is_file() else []), *sorted(repository.glob("*/1/exported.json"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _of_own_product(choice: Choice) -> int:
    # Triton may not run in the folder of temporary files.
    with tempfile.TemporaryDirectory(prefix="known-answers-", dir=BUILD.absolute()) as folder:
        own = {"DATABASE": f"sqlite:///{folder}/quartet.sqlite3", "USAGE_FOLDER": f"{folder}/usage"}
        environ = {**os.environ, **{f"{PREFIX}{name}": value for name, value in own.items()}}
        stack = Stack(free_port(), environ, work=Path(folder))

        def watch() -> None:
            if reason := stack.failure():
                raise TritonFailedError(reason)

        try:
            with interruptible(stack.hurry):
                stack.start()
                return 0 if verify(choice, {**stack.environment(), **variables(choice)}, watch=watch) else 1
        except (PreflightError, TritonFailedError, *DATABASE_FAILURES) as error:
            print(error, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            stack.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the exported models with known answers.")
    preflight.add_arguments(parser)
    choice = Choice("export", **vars(parser.parse_args()))
    if not choice.is_verified:
        return 0
    if choice.precision == "fp16":
        print(_ON_CUDA)
        return 0
    return _of_own_product(choice)


if __name__ == "__main__":
    sys.exit(main())
