"""Fill the model repository, a model after the other.

    python -m scripts.export_models --source demo
    python -m scripts.export_models --source folder --folder /models --precision int8
    python -m scripts.export_models --source hub --precision int8 --strict

``export.log`` in the ``--work`` folder ends with a table of what was compared with the originals; the screen has what
failed. The exit code is 2 when no model could be exported, 3 when others than some could, and 128 and the number of a
signal that ended it.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C ends it at once and without a traceback while modules load, and where the caller has had it ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from scripts.export_models import plan, runner, space, stamp
from scripts.export_models.checkpoints import Checkpoint, SourceError, in_words
from scripts.export_models.options import parse
from scripts.export_models.parity import table
from scripts.export_models.progress_line import ProgressLine
from scripts.export_models.sources import Source, faults_but_not_all, source_of
from scripts.export_models.stamp import Digests, Stamp
from scripts.export_models.ways import Exported
from scripts.machine import memory_bytes, processors

MODELS = plan.MODELS


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        with runner.ending_signals():
            return _export(options, arguments)
    except SourceError as error:
        print(f"export stopped: {error}", file=sys.stderr)
        return plan.NONE_LEFT
    except runner.StoppedError as error:
        print(f"export stopped by {error}", file=sys.stderr)
        return 128 + error.number


def _export(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    plan.check_catalogue()
    if options.source == "folder" and options.folder is None:
        raise SourceError("--source folder needs --folder")
    source = source_of(options.source, options.folder, options.work)
    if options.stale:
        return plan.STALE if _out_of_date(options, source, options.models) else 0
    faults = dict[str, str]()
    # A folder is at hand; what can be downloaded matters only where something is to be.
    if options.source == "folder":
        faults = faults_but_not_all(source, options.models)
    todo = {model: Stamp() for model in options.models if model not in faults}
    if not options.check:
        todo = _out_of_date(options, source, list(todo))
    if options.source != "folder":
        faults = faults_but_not_all(source, list(todo))
        todo = {model: its for model, its in todo.items() if model not in faults}
    for model, reason in faults.items():
        print(f"{model} could not be exported: {reason}", file=sys.stderr)
    if todo:
        sizes = space.sizes(options.source, source, list(todo))
        space.check(space.needs(options.source, sizes, options.work, options.repository))
        if not options.check:
            print(_announced(options.source, len(todo), sizes, source.downloads(list(sizes))), flush=True)
            faults |= _run(options, arguments, todo)
    if not options.check:
        for model, reason in faults.items():
            stamp.write(options.repository, model, Stamp(source=options.source, failed=reason))
    if not faults:
        return 0
    return plan.SOME_FAILED if len(faults) < len(options.models) else plan.NONE_LEFT


def _out_of_date(options: argparse.Namespace, source: Source, models: Sequence[str]) -> dict[str, Stamp]:
    """The models to export, each with its stamp; what is known of the others is said again."""
    digests, found = Digests(options.work / "digests.json"), {}
    for model in models:
        wanted = stamp.wanted(model, source, options.source, options.precision, digests)
        its = stamp.read(options.repository, model)
        if options.force or not its or not its.of_the_same(wanted) or (options.strict and its.skipped):
            found[model] = wanted
            continue
        if its.not_checked:
            print(f"{model} is exported and not checked: {'; '.join(its.not_checked)}", file=sys.stderr)
        for each in its.skipped:
            print(f"{model} is exported in {its.way}, not in {each}", file=sys.stderr)
    return found


def _run(options: argparse.Namespace, arguments: Sequence[str], todo: Mapping[str, Stamp]) -> dict[str, str]:
    """Export the models of ``todo`` in turn; of those that could not be exported, why."""
    started, path = time.monotonic(), options.work / space.LOG
    path.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, Exported] = {}
    faults: dict[str, str] = {}
    with path.open("a", encoding="utf-8") as log:
        with closing(ProgressLine(sys.stderr, log, len(todo))) as line:
            for model, its in todo.items():
                stamp.remove(options.repository, model)
                same = [other for other in found if model.startswith("whisper") and todo[other].of_the_same(its)]
                if same:
                    _link_whisper(options.repository, same[0], model)
                    outcome: Exported | str = replace(found[same[0]], checks=[])
                else:
                    outcome = runner.run(model, arguments, path, line)
                if isinstance(outcome, str):
                    faults[model] = outcome
                else:
                    found[model] = outcome
                    stamp.write(options.repository, model, _stamped(its, outcome))
                line.ended(model, faults.get(model, ""))
        checks = [check for its in found.values() for check in its.checks]
        print(table(checks), _ways(found), sep="\n", file=log)
    for check in checks:
        if check.difference is None:
            print(f"{check.model}: {check.what} was not checked", file=sys.stderr)
    free = shutil.disk_usage(options.repository).free
    print(
        f"{len(found)} models in {time.monotonic() - started:.0f} s, {in_words(free)} free on the disk; "
        f"{path} has what was compared"
    )
    return faults


def _stamped(wanted: Stamp, made: Exported) -> Stamp:
    not_checked = [check.what for check in made.checks if check.difference is None]
    return replace(wanted, way=made.way, skipped=made.skipped, not_checked=not_checked)


def _link_whisper(repository: Path, made: str, model: str) -> None:
    """Both Whispers of the demo are of one checkpoint."""
    source, target = (repository / name / "1" / "whisper" for name in (made, model))
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=os.link)


def _ways(exported: Mapping[str, Exported]) -> str:
    """A line for each model: how it was exported, and what was tried before."""
    return "\n".join(
        f"{model} is exported in {its.way}" + "".join(f", not in {each}" for each in its.skipped)
        for model, its in exported.items()
    )


def _announced(source: str, count: int, sizes: Mapping[Checkpoint, int], downloads: Sequence[str]) -> str:
    """What is about to happen, before it does: what is downloaded, on what, and for how long."""
    threads, most, memory = processors(), plan.memory(sizes), memory_bytes()
    minutes = max(1, round(plan.seconds(sizes, threads) / 60))
    lines = [
        f"exporting {count} models ({source}), about {minutes} min: {threads} processors, {in_words(memory)} of memory",
        *downloads,
    ]
    if most > memory:
        lines.append(f"this may take {in_words(most)} of memory, and there are {in_words(memory)}")
    return "\n  ".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
