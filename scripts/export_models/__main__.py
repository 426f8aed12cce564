"""Fill the model repository.

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
import shutil
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from scripts.export_models import lanes, plan, space, stamp
from scripts.export_models.checkpoints import Checkpoint, SourceError, in_words
from scripts.export_models.fingerprints import Fingerprints
from scripts.export_models.graphs.parity import table
from scripts.export_models.graphs.progress import SILENT
from scripts.export_models.progress_line import ProgressLine
from scripts.export_models.sources import Source, faults_but_not_all
from scripts.export_models.stamp import Digests, Stamp
from scripts.export_models.ways import Exported
from scripts.export_models.worker import Job, source_of
from scripts.machine import memory_bytes, processors

MODELS = plan.MODELS
_PRECISIONS = ("auto", "int8", "bf16", "fp32", "fp16")


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.export_models", description="Export models into the Triton model repository."
    )
    parser.add_argument("--source", choices=("demo", "hub", "folder"), default="demo")
    parser.add_argument("--folder", type=Path, help="checkpoints on disk, laid out as on the hub")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"))
    parser.add_argument("--work", type=Path, default=space.WORK, help="downloads, logs, intermediate files")
    parser.add_argument("--precision", choices=_PRECISIONS, default="auto", help="the first that is tried")
    parser.add_argument("--strict", action="store_true", help="in that precision or not at all")
    parser.add_argument("--only", dest="models", choices=MODELS, action="append", metavar="MODEL")
    parser.add_argument("--force", action="store_true", help="export again what is there already")
    parser.add_argument("--check", action="store_true", help="only say whether the source has what an export needs")
    given = parser.parse_args(arguments)
    given.models = given.models or list(MODELS)
    return given


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    try:
        with lanes.ending_signals():
            return _export(options)
    except SourceError as error:
        print(f"export stopped: {error}", file=sys.stderr)
        return plan.NONE_LEFT
    except lanes.StoppedError as error:
        print(f"export stopped by {error}", file=sys.stderr)
        return 128 + error.number


def _export(options: argparse.Namespace) -> int:
    plan.check_catalogue()
    if options.source == "folder" and options.folder is None:
        raise SourceError("--source folder needs --folder")
    source = source_of(options.source, str(options.folder or ""), options.work, SILENT)
    faults = dict[str, str]()
    # A folder is at hand; what can be downloaded matters only where something is to be.
    if options.source == "folder":
        faults = faults_but_not_all(source, options.models)
    wanted = dict.fromkeys(options.models, "") if options.check else _wanted(options, source, faults)
    if options.source != "folder":
        faults = faults_but_not_all(source, list(wanted))
    wanted = {model: fingerprint for model, fingerprint in wanted.items() if model not in faults}
    for model, reason in faults.items():
        print(f"{model} could not be exported: {reason}", file=sys.stderr)
    if wanted:
        sizes = space.sizes(options.source, source, list(wanted))
        space.check(space.needs(options.source, sizes, options.work, options.repository))
        if not options.check:
            faults |= _run(options, source, wanted, sizes)
    if not options.check:
        for model, reason in faults.items():
            stamp.write(options.repository, model, Stamp("", source=options.source, failed=reason))
    if not faults:
        return 0
    return plan.SOME_FAILED if len(faults) < len(options.models) else plan.NONE_LEFT


def _wanted(options: argparse.Namespace, source: Source, faults: Collection[str]) -> dict[str, str]:
    """The models to export, each with its fingerprint; those that nobody could check are named again."""
    digests = Digests(options.work / "digests.json")
    prints = Fingerprints(source, options.source, digests, precision=options.precision)
    wanted = {}
    for model in options.models:
        if model in faults:
            continue
        fingerprint, found = prints.of(model), stamp.read(options.repository, model)
        fresh = found and found.fingerprint == fingerprint
        if options.force or not found or not fresh or (options.strict and found.skipped):
            wanted[model] = fingerprint
            continue
        if found.not_checked:
            print(f"{model} is exported and not checked: {'; '.join(found.not_checked)}", file=sys.stderr)
        for each in found.skipped:
            print(f"{model} is exported in {found.way}, not in {each}", file=sys.stderr)
    return wanted


def _run(
    options: argparse.Namespace, source: Source, wanted: Mapping[str, str], sizes: Mapping[Checkpoint, int]
) -> dict[str, str]:
    """Export the ``wanted``; of those that could not be exported, why."""
    works, memory = plan.works(wanted, sizes), memory_bytes()
    shares = plan.share_out(works, processors(), memory)
    print(_announced(options.source, works, shares, source.downloads(list(sizes))), flush=True)
    if (most := max(work.memory for work in works)) > memory:
        print(f"this may take {in_words(most)} of memory, and there are {in_words(memory)}", flush=True)
    jobs = [
        Job(
            source=options.source,
            folder=str(options.folder or ""),
            repository=str(options.repository),
            work=str(options.work),
            precision=options.precision,
            strict=options.strict,
            fingerprints={model: wanted[model] for model in share.models},
            threads=share.threads,
        )
        for share in shares
    ]
    started, path = time.monotonic(), options.work / space.LOG
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as log:
        found = lanes.run(jobs, options.work, ProgressLine(sys.stderr, log, len(wanted)))
        exported = {model: its for model, its in found.items() if isinstance(its, Exported)}
        checks = [check for its in exported.values() for check in its.checks]
        print(table(checks), _ways(exported), sep="\n", file=log)
    for check in checks:
        if check.difference is None:
            print(f"{check.model}: {check.what} was not checked", file=sys.stderr)
    free = shutil.disk_usage(options.repository).free
    print(
        f"{len(exported)} models in {time.monotonic() - started:.0f} s, {in_words(free)} free on the disk; "
        f"{path} has what was compared"
    )
    return {model: its for model, its in found.items() if isinstance(its, str)}


def _ways(exported: Mapping[str, Exported]) -> str:
    """A line for each model: how it was exported, and what was tried before."""
    return "\n".join(
        f"{model} is exported in {its.way}" + "".join(f", not in {each}" for each in its.skipped)
        for model, its in exported.items()
    )


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _announced(source: str, works: Sequence[plan.Task], shares: Sequence[plan.Lane], downloads: Sequence[str]) -> str:
    """What is about to happen, before it does: what is downloaded, on what, and for how long."""
    minutes = plan.seconds_in_all(works, shares) / 60
    count = sum(len(work.models) for work in works)
    first = (
        f"exporting {count} models ({source}), about {max(1, round(minutes))} min: "
        f"{_counted(len(shares), 'process', 'processes')} of {_counted(shares[0].threads, 'thread', 'threads')}, "
        f"for {processors()} processors and {in_words(memory_bytes())} of memory"
    )
    return "\n  ".join([first, *downloads])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
