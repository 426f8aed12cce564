"""Holds the real models to what is published of them, when they were exported and whenever they have changed since.

    python -m scripts.run.known_answers --models hub

starts the product for it on a free port, for exports that are not run here. ``--facts`` names other facts: a file that
'quartet verify --record' wrote, for models that are not the published ones.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C ends it at once and without a traceback while modules load, and where the caller has had it ignored.
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
from scripts.run.ending import INTERRUPTED, Ending
from scripts.run.preflight import Choice
from scripts.run.stack import Stack
from scripts.run.state import BUILD, REPOSITORY

_HELD = BUILD / "known-answers.sha256"
TABLE = BUILD / "known-answers.txt"
_TEXT_MODELS = ("m3_embedder", "m3_reranker")
_WATCH_SECONDS = 0.2
_ON_CUDA = "exports in fp16 run on CUDA alone: hold the running product to what is known with 'quartet verify'"


def told(choice: Choice, repository: Path = REPOSITORY) -> dict[str, str]:
    """Which facts the models are to be held to, and the text models' precision, as ``quartet verify`` reads them.

    Where they have several, none is named, so that each number may be off by as much as in any.
    """
    facts, precisions = choice.known_facts, {_precision(repository, model) for model in _TEXT_MODELS} - {""}
    found = {"FACTS": facts, "PRECISION": precisions.pop() if len(precisions) == 1 else ""}
    return {f"{PREFIX}{name}": value for name, value in found.items() if value}


def _precision(repository: Path, model: str) -> str:
    """That of a text model, or nothing where it could not be exported."""
    path = repository / model / "1" / "quartet.json"
    if not path.is_file() or read_export(repository, model).failed:
        return ""
    return str(json.loads(path.read_text(encoding="utf-8"))["precision"])


def hold(
    choice: Choice,
    values: Mapping[str, str],
    repository: Path = REPOSITORY,
    watch: Callable[[], None] = lambda: None,
) -> bool:
    """Ask the product at ``values``, where its models are to be held to facts and have not been before.

    The table goes to ``TABLE``, its last line to standard output. ``watch`` is called again and again meanwhile, since
    with large models it takes minutes; what it raises ends the asking. Answers whether all is as it is known.
    """
    if not choice.held:
        return True
    digest = _digest(values[f"{PREFIX}FACTS"], repository)
    if _HELD.is_file() and _HELD.read_text(encoding="utf-8") == digest:
        return True
    print(f"holding the models to what is known of them ({values[f'{PREFIX}FACTS']}), for some minutes", flush=True)
    command = [sys.executable, "-m", "client", "verify"]
    if all((repository / model / "1" / "tokenizer.json").is_file() for model in _TEXT_MODELS):
        command += ["--models", str(repository)]
    environ = {**os.environ, **values}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent) as asked:
        try:
            table = _table(asked, watch)
        except BaseException:
            asked.kill()
            raise
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(table, encoding="utf-8")
    print("".join(table.splitlines()[-1:]) + f"; {TABLE} has the table", flush=True)
    if asked.returncode == 0:
        _HELD.write_text(digest, encoding="utf-8")
        return True
    _HELD.unlink(missing_ok=True)
    print(
        f"\nTHE MODELS DO NOT ANSWER AS THEY SHOULD; {TABLE} has the table, and the next start asks again.\n",
        file=sys.stderr,
        flush=True,
    )
    return False


def _table(asked: subprocess.Popen[str], watch: Callable[[], None]) -> str:
    while True:
        try:
            return asked.communicate(timeout=_WATCH_SECONDS)[0]
        except subprocess.TimeoutExpired:
            watch()


def _digest(facts: str, repository: Path) -> str:
    """Of the facts, and of what the models were made from."""
    digest = hashlib.sha256(facts.encode())
    known = path_of(facts)
    for path in (*([known] if known.is_file() else []), *sorted(repository.glob("*/1/exported.json"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _of_own_product(choice: Choice) -> int:
    # Triton may not be able to run where temporary files lie.
    with tempfile.TemporaryDirectory(prefix="known-answers-", dir=BUILD.absolute()) as folder:
        own = {"DATABASE": f"sqlite:///{folder}/quartet.sqlite3", "USAGE_FOLDER": f"{folder}/usage"}
        environ = {**os.environ, **{f"{PREFIX}{name}": value for name, value in own.items()}}
        stack = Stack(free_port(), environ, work=Path(folder))
        ending = Ending(stack.hurry)

        def watch() -> None:
            if reason := stack.failure():
                raise TritonFailedError(reason)

        try:
            stack.start()
            return 0 if hold(choice, {**stack.environment(), **told(choice)}, watch=watch) else 1
        except (PreflightError, TritonFailedError, *DATABASE_FAILURES) as error:
            print(error, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            ending.begins()
            stack.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description="Hold the exported models to what is known of them.")
    preflight.add_arguments(parser)
    choice = Choice("export", **vars(parser.parse_args()))
    if not choice.held:
        return 0
    if choice.precision == "fp16":
        print(_ON_CUDA)
        return 0
    return _of_own_product(choice)


if __name__ == "__main__":
    sys.exit(main())
