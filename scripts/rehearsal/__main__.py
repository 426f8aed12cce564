"""From nothing to four answers with look-alikes of the real models, cut twice on the way.

    python -m scripts.rehearsal --scale small
    python -m scripts.rehearsal --scale real --work /tmp/rehearsal
    python -m scripts.rehearsal --work /large/disk --set STATE=/elsewhere

The folder ``--work`` gets the checkpoints (9.6 GB at full scale, kept for the next time), a checkout of the product,
``make.log``, ``report.json`` and ``report.md``.
"""

import argparse
import logging
import shutil
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from scripts.export_models.checkpoints import in_words
from scripts.export_models.plan import CHECKPOINTS
from scripts.local_triton.checks import free_port
from scripts.machine import memory_bytes, processors
from scripts.rehearsal.checkout import Checkout
from scripts.rehearsal.course import Course
from scripts.rehearsal.hub import Hub
from scripts.rehearsal.lookalikes import SCALES, write_all
from scripts.rehearsal.report import Report
from scripts.rehearsal.watch import RehearsalError

_CHECKOUT = "checkout"


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.rehearsal", description="Rehearse make run MODELS=hub.")
    parser.add_argument("--scale", choices=tuple(SCALES), default="full", help="of the look-alikes")
    parser.add_argument("--work", type=Path, default=Path("build/rehearsal"), help="30 GB for the full scale")
    parser.add_argument("--precision", default="auto", help="of the text models")
    parser.add_argument("--then", action="append", default=[], metavar="PRECISION", help="once more in this one")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a variable for make")
    parser.add_argument("--keep", action="store_true", help="leave the checkout with its models where it is")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    given = _parse(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    work = given.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    machine = f"{processors()} processors, {in_words(memory_bytes())} of memory"
    report = Report(machine, given.scale)
    print(f"writing look-alikes into {work / 'hub'}", flush=True)
    write_all(work / "hub", SCALES[given.scale])
    revisions = {checkpoint.repository: checkpoint.revision for checkpoint in CHECKPOINTS.values()}
    try:
        with Hub(work / "hub", revisions) as hub:
            checkout = Checkout(work / _CHECKOUT, free_port(), hub.address, given.set)
            checkout.make_anew()
            log = work / "make.log"
            log.write_text(time.strftime("%Y-%m-%d %H:%M:%S\n"), encoding="utf-8")
            _rehearse(Course(checkout, hub, report, log, real=SCALES[given.scale].real), given.precision, given.then)
    except RehearsalError as error:
        print(f"the rehearsal failed: {error}", file=sys.stderr)
        return 1
    finally:
        report.write(work)
        print(report.text())
        if not given.keep:
            shutil.rmtree(work / _CHECKOUT, ignore_errors=True)
    return 0


def _rehearse(course: Course, precision: str, others: Sequence[str]) -> None:
    course.cut_in_a_download(precision)
    course.cut_in_an_export(precision)
    course.to_first_answers("the same again, to four answers", precision)
    course.look_at_what_was_sent()
    course.to_first_answers("second start", precision, exporting=False)
    for other in others:
        course.in_another_precision(other)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
