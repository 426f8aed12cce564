"""Fill the model repository.

    python -m scripts.export_models --source demo
    python -m scripts.export_models --source folder --folder /models --precision int8
    python -m scripts.export_models --source hub --whisper-compute-type int8
    python -m scripts.export_models --source hub --onnxruntime 1.19.2

``export.log`` in the ``--work`` folder ends with a table of what was compared with the originals; the screen has what
failed. The exit code is 1 when a check failed, 2 when there was nothing to export from, and 128 and the number of a
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
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.export_models import lanes, plan, space, stamp
from scripts.export_models.checkpoints import Checkpoint, SourceError, in_words
from scripts.export_models.fingerprints import Fingerprints
from scripts.export_models.graphs import runtimes
from scripts.export_models.graphs.parity import Check, table
from scripts.export_models.graphs.progress import SILENT
from scripts.export_models.progress_line import ProgressLine
from scripts.export_models.sources import Source
from scripts.export_models.stamp import Digests
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
    parser.add_argument("--precision", choices=_PRECISIONS, default="auto", help="of the text models")
    parser.add_argument("--whisper-compute-type", help="CTranslate2's: float32, int8, float16, ...")
    parser.add_argument(
        "--onnxruntime",
        dest="versions",
        action="append",
        default=[],
        metavar="VERSION",
        help=f"check on this ONNX Runtime too: a version from {runtimes.OLDEST} (Triton 24.10) on, or 'oldest'",
    )
    parser.add_argument("--runtimes", type=Path, help="where those lie; in the --work folder by default")
    parser.add_argument("--only", dest="models", choices=MODELS, action="append", metavar="MODEL")
    parser.add_argument("--force", action="store_true", help="export again what is there already")
    parser.add_argument("--check", action="store_true", help="only say whether the source has what an export needs")
    given = parser.parse_args(arguments)
    given.models = given.models or list(MODELS)
    given.runtimes = given.runtimes or given.work
    given.whisper_compute_type = given.whisper_compute_type or _compute_type(given.source, given.precision)
    given.versions = [runtimes.OLDEST if each == "oldest" else each for each in given.versions]
    return given


def _compute_type(source: str, precision: str) -> str:
    """What Whisper is exported in where nobody says: int8 is made for processors, fp16 for CUDA."""
    # Until int8 is checked with recordings of people.
    if source == "demo":
        return "float32"
    return "float16" if precision == "fp16" else "int8"


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    try:
        with lanes.ending_signals():
            return _export(options)
    except SourceError as error:
        print(f"export stopped: {error}", file=sys.stderr)
        return 2
    except lanes.StoppedError as error:
        print(f"export stopped by {error}", file=sys.stderr)
        return 128 + error.number


def _export(options: argparse.Namespace) -> int:
    plan.check_catalogue()
    if options.source == "folder" and options.folder is None:
        raise SourceError("--source folder needs --folder")
    source = source_of(options.source, str(options.folder or ""), options.work, SILENT)
    others = runtimes.others(options.versions, options.runtimes)
    # A folder is at hand; what can be downloaded matters only where something is to be.
    if options.source == "folder":
        _check(source, options.models)
    wanted = dict.fromkeys(options.models, "") if options.check else _wanted(options, source)
    if not wanted:
        return 0
    if options.source != "folder":
        _check(source, list(wanted))
    sizes = space.sizes(options.source, source, list(wanted))
    space.check(space.needs(options.source, sizes, options.work, options.repository))
    if options.check:
        return 0
    for other in others:
        other.install()
    return _run(options, source, wanted, sizes)


def _check(source: Source, models: Sequence[str]) -> None:
    """Refuse what would fail later, before anything is downloaded or computed."""
    source.check(plan.checkpoints_of(models), [voice for model in models if (voice := plan.voice_of(model))])


def _wanted(options: argparse.Namespace, source: Source) -> dict[str, str]:
    """The models to export, each with its fingerprint; those that nobody could check are named again."""
    digests = Digests(options.work / "digests.json")
    precision, compute_type = options.precision, options.whisper_compute_type
    prints = Fingerprints(source, options.source, digests, precision=precision, compute_type=compute_type)
    wanted = {}
    for model in options.models:
        fingerprint, found = prints.of(model), stamp.read(options.repository, model)
        fresh = found and found.fingerprint == fingerprint and set(found.runtimes).issuperset(options.versions)
        if options.force or not found or not fresh:
            wanted[model] = fingerprint
        elif found.not_checked:
            print(f"{model} is exported and not checked: {'; '.join(found.not_checked)}", file=sys.stderr)
    return wanted


def _run(
    options: argparse.Namespace, source: Source, wanted: Mapping[str, str], sizes: Mapping[Checkpoint, int]
) -> int:
    works, memory = plan.works(list(wanted), sizes), memory_bytes()
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
            runtimes=str(options.runtimes),
            precision=options.precision,
            compute_type=options.whisper_compute_type,
            versions=options.versions,
            fingerprints={model: wanted[model] for model in share.models},
            threads=share.threads,
        )
        for share in shares
    ]
    started, path = time.monotonic(), options.work / space.LOG
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as log:
        checks = lanes.run(jobs, options.work, ProgressLine(sys.stderr, log, len(wanted)))
        print(table(checks), file=log)
    for check in checks:
        if not check.passed:
            print(_told(check), file=sys.stderr)
    free = shutil.disk_usage(options.repository).free
    print(
        f"{len(wanted)} models in {time.monotonic() - started:.0f} s, {in_words(free)} free on the disk; "
        f"{path} has what was compared"
    )
    return 1 if any(check.failed for check in checks) else 0


def _told(check: Check) -> str:
    if check.difference is None:
        return f"{check.model}: {check.what} was not checked"
    return f"{check.model}: FAILED, {check.what} is {check.difference:.2e}, over {check.limit:.2g}"


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
