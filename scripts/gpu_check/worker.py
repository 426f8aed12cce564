"""One part, in a process of its own: python -m scripts.gpu_check.worker text --device cuda --size full FOLDER

Whatever it finds goes to standard output, a JSON object a line; all that libraries print goes to standard error.
"""

import argparse
import importlib
import os
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from scripts.gpu_check import found
from scripts.gpu_check.job import Job, Tell
from scripts.gpu_check.sizes import SIZES

# The parts that measure, each a module of ``parts``; what is found is told before them.
PARTS = ("peak", "text", "padded", "torch_text", "whisper", "torch_whisper", "speech")
FOUND = "found"
# What CTranslate2 says, once it computes, where cuBLAS is missing.
_NO_LIBRARY = "is not found or cannot be loaded"


def main() -> None:
    parser = argparse.ArgumentParser(description="Run one part.")
    parser.add_argument("part", choices=(FOUND, *PARTS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=("cuda", "cpu"), required=True)
    parser.add_argument("--size", choices=SIZES, required=True)
    arguments = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    # Libraries print from C too.
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    tell = Tell(answers, arguments.device)
    job = Job(arguments.device, SIZES[arguments.size], arguments.folder, tell)
    work(partial(_run, arguments.part, job), tell)


def _run(part: str, job: Job) -> None:
    if part == FOUND:
        for name, value in found.facts().items():
            job.tell.fact(name, value)
    else:
        importlib.import_module(f"scripts.gpu_check.parts.{part}").run(job)


def work(part: Callable[[], None], tell: Tell) -> None:
    """Run a part, and tell how it ended: done, skipped or failed, with the reason."""
    try:
        part()
        tell.say("done")
    except found.SkippedError as error:
        tell.say("skipped", reason=str(error))
    except Exception as error:
        if _NO_LIBRARY in str(error):
            tell.say("skipped", reason=str(error))
            return
        traceback.print_exc()
        first, *_ = str(error).strip().splitlines() or [""]
        tell.say("failed", reason=f"{type(error).__name__}: {first}")


if __name__ == "__main__":
    main()
