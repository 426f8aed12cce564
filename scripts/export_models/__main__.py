"""Fill the model repository, one model after the other.

    python -m scripts.export_models --source demo
    python -m scripts.export_models --source folder --folder /models --precision int8
    python -m scripts.export_models --source hub --precision int8 --strict

``export.log`` in the ``--work`` folder has a table for each model that compares it with its original; the screen shows
what failed. The exit code is 2 if no model could be exported, 3 if some could not, and 128 plus the number of a signal
that ended the export.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C ends the export without a traceback while modules load, also if the caller has ignored it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from scripts.export_models import plan, space, stamp
from scripts.export_models.added_models import prepare, promise_of
from scripts.export_models.checkpoints import SourceError, full_disk_in_words, in_words
from scripts.export_models.options import chosen_source, parse
from scripts.export_models.sources import Sources
from scripts.export_models.stamp import Digests, Stamp
from scripts.local_triton.child import start_child, stop_child
from scripts.machine import memory_bytes, processors

_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: list[str]) -> int:
    try:
        options = parse(arguments)
        plan.check_catalogue()
        with full_disk_in_words():
            return _export(options, arguments)
    except SourceError as error:
        print(f"export stopped: {error}", file=sys.stderr)
        return plan.NONE_LEFT


def _export(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    if options.source == "folder" and options.folder is None:
        raise SourceError("--source folder needs --folder")
    source = chosen_source(options)
    broken = {**options.added.faults, **source.faults_of_own()}
    broken = {model: reason for model, reason in broken.items() if model in options.models}
    models = [model for model in options.models if model not in broken]
    for line in options.added.misnamed:
        print(line, file=sys.stderr)
    if options.stale:
        return plan.STALE if _voices_differ(options, broken) or _out_of_date(options, source, models) else 0
    _record(options, broken)
    faults = dict[str, str]()
    # A folder is checked at each start. A hub is asked only if something is to be downloaded.
    if options.source == "folder":
        faults = source.faults_but_not_all(models)
    todo = {model: Stamp() for model in models if model not in faults}
    if not options.check:
        todo = _out_of_date(options, source, list(todo))
    if options.source != "folder":
        faults = source.faults_but_not_all(list(todo))
        todo = {model: wanted for model, wanted in todo.items() if model not in faults}
    _record(options, faults)
    for model in [] if options.check else _leftovers(options):
        _remove(options.repository, model)
    failed = len(faults) + len(broken) + len(options.added.misnamed)
    if todo:
        sizes = space.sizes(options.source, source, list(todo))
        space.check(space.needs(options.source, sizes, options.work, options.repository))
        if not options.check:
            minutes = max(1, round(plan.seconds(sizes, processors()) / 60))
            machine = f"{processors()} processors, {in_words(memory_bytes())} of memory"
            title = f"exporting {len(todo)} models ({options.source}), about {minutes} min: {machine}"
            print(title, *source.downloads(list(sizes)), sep="\n  ", flush=True)
            failed += _run(options, arguments, todo)
    if not options.check:
        _describe(options, source)
    if not failed:
        return 0
    return plan.SOME_FAILED if failed < len(options.models) + len(options.added.misnamed) else plan.NONE_LEFT


def _describe(options: argparse.Namespace, source: Sources) -> None:
    """Write what the settings file says of each added model that is exported; not all of it needs another export."""
    for model, added in options.own.items():
        made = stamp.read(options.repository, model)
        if model in options.models and made and not made.failed:
            promise = promise_of(added, source.fetch(source.checkpoint_of(model)))
            prepare(options.repository, added, promise)


def _record(options: argparse.Namespace, faults: Mapping[str, str]) -> None:
    """Print why models cannot be exported, and leave it in the repository."""
    for model, reason in faults.items():
        print(f"{model} could not be exported: {reason}", file=sys.stderr)
        if not options.check:
            stamp.write(options.repository, model, stamp.failed(model, reason, options.source, options.speakers))


def _voices_differ(options: argparse.Namespace, broken: Mapping[str, str]) -> bool:
    """Whether added voices are in the repository or broken, and are not, or not so, in their folder."""
    known = {model: made.failed for model in broken if (made := stamp.read(options.repository, model))}
    return known != broken or bool(_leftovers(options))


def _leftovers(options: argparse.Namespace) -> list[str]:
    """The exports in the repository of what is not wanted, if all models are exported."""
    if not options.whole:
        return []
    own = [model for model in plan.ALL_MODELS if stamp.read(options.repository, model)]
    return [model for model in (*own, *stamp.added(options.repository)) if model not in options.models]


def _remove(repository: Path, model: str) -> None:
    """Remove what was added, or what was exported of another model."""
    if model not in plan.ALL_MODELS:
        shutil.rmtree(repository / model)
        return
    for path in (repository / model / "1").iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix != ".py" and path.name != ".gitkeep":
            path.unlink()


def _out_of_date(options: argparse.Namespace, source: Sources, models: Sequence[str]) -> dict[str, Stamp]:
    """The models to export, each with the stamp it will have; prints the remarks about the others."""
    digests, found = Digests(options.work / "digests.json"), {}
    for model in models:
        wanted = stamp.wanted(model, source, options.source, options.precision, digests, options.speakers, options.own)
        existing = stamp.read(options.repository, model)
        if options.force or not existing or not existing.of_the_same(wanted) or (options.strict and existing.skipped):
            found[model] = wanted
        else:
            for line in _remarks(model, existing):
                print(line, file=sys.stderr)
    return found


def _remarks(model: str, made: Stamp) -> Iterator[str]:
    """What was not checked of an export, which voices it lacks, and which ways were skipped."""
    if made.not_checked:
        yield f"{model} is exported and not checked: {'; '.join(made.not_checked)}"
    for reason in made.without:
        yield f"{model} is exported without {reason}"
    for skipped in made.skipped:
        yield f"{model} is exported in {made.way}, not in {skipped}"


def _run(options: argparse.Namespace, arguments: Sequence[str], todo: Mapping[str, Stamp]) -> int:
    """Export the models of ``todo`` in turn; returns how many failed."""
    started, log = time.monotonic(), options.work / space.LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, Stamp] = {}
    for model, wanted in todo.items():
        stamp.remove(options.repository, model)
        _part_from_links(options.repository / model)
        made = _linked(options.repository, model, wanted, found)
        made = made or _made(options, arguments, model, len(found), len(todo))
        stamp.write(options.repository, model, made)
        found[model] = made
        if made.failed:
            print(f"{model} could not be exported: {made.failed} (more in {log})", file=sys.stderr)
        if made.why:
            print(f"{model} is exported in {made.way}: {made.why}", file=sys.stderr)
        for line in _remarks(model, made):
            print(line, file=sys.stderr)
    failed = sum(bool(made.failed) for made in found.values())
    seconds = time.monotonic() - started
    free = in_words(shutil.disk_usage(options.repository).free)
    print(f"{len(found) - failed} models in {seconds:.0f} s, {free} free on the disk; {log} has what was compared")
    return failed


def _made(options: argparse.Namespace, arguments: Sequence[str], model: str, done: int, total: int) -> Stamp:
    """Export a model in a process of its own, after ``done`` of ``total``; returns the stamp that it leaves."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(processors()))
    # Threads that spin while they wait take four times as long if other processes run too.
    threads["OMP_WAIT_POLICY"] = "PASSIVE"
    # Its own output goes to the log.
    screen = os.dup(2)
    command = [sys.executable, "-m", "scripts.export_models.step", str(screen), str(done), str(total), model]
    process = start_child([*command, *arguments], os.environ | threads, options.work / space.LOG, [screen])
    os.close(screen)
    try:
        status = process.wait()
    finally:
        stop_child(process, 0)
    reason = f"its process ended with status {status}"
    if status == -signal.SIGKILL:
        reason = "its process was killed: there was not enough memory, or someone ended it"
    made = stamp.read(options.repository, model)
    return made or stamp.failed(model, reason, options.source, options.speakers)


def _part_from_links(folder: Path) -> None:
    """Take out the files that are another export's too, because what exports may write into a file that is there."""
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_file() or path.stat().st_nlink == 1:
            continue
        content = path.read_bytes() if path.suffix in (".py", ".pbtxt") else None
        path.unlink()
        if content is not None:
            path.write_bytes(content)


def _linked(repository: Path, model: str, wanted: Stamp, found: Mapping[str, Stamp]) -> Stamp | None:
    """Link the files of a Whisper that was exported from the same checkpoint, as the demo's two are."""
    for other, made in found.items():
        if model.startswith("whisper") and made.of_the_same(wanted):
            source, target = (repository / name / "1" / "whisper" for name in (other, model))
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, copy_function=os.link)
            return made
    return None


def _stop(number: int, frame: FrameType | None) -> None:
    """Stop the export with its processes; further signals do not interrupt that."""
    for each in _ENDING_SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    os.write(2, f"\nexport stopped by {signal.Signals(number).name}\n".encode())
    raise SystemExit(128 + number)


if __name__ == "__main__":
    for _number in _ENDING_SIGNALS:
        signal.signal(_number, _stop)
    sys.exit(main(sys.argv[1:]))
