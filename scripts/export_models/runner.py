"""Runs the export of one model in a process of its own.

Compiled code handles no signal until it returns: this process handles them and ends that one. It also watches the
memory, since the kernel's limits would count mapped files.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from multiprocessing import Pipe

from scripts.export_models import plan, space, stamp
from scripts.export_models.checkpoints import in_words
from scripts.export_models.stamp import Stamp
from scripts.local_triton.child import start_child, stop_child
from scripts.machine import held_bytes, processors

_TICK_SECONDS = 0.2


def run(
    model: str, wanted: Stamp, options: argparse.Namespace, arguments: Sequence[str], show: Callable[[str], None]
) -> Stamp:
    """Export ``model`` under the command's ``arguments``, parsed as ``options``, and ``show`` each step.

    Returns the ``wanted`` stamp with the way that was taken, or one that says why the export failed.
    """
    reader, writer = Pipe(duplex=False)
    worker = [model, json.dumps(asdict(wanted)), str(writer.fileno())]
    command = [sys.executable, "-m", "scripts.export_models.worker", *worker, *arguments]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(processors()))
    # Threads that spin while they wait take four times as long if other processes run too.
    threads["OMP_WAIT_POLICY"] = "PASSIVE"
    process = start_child(command, os.environ | threads, options.work / space.LOG, [writer.fileno()])
    writer.close()
    most = plan.TEXT_MEMORY if plan.checkpoint_of(model).kind == "text" else float("inf")
    step = model
    try:
        while held_bytes("RssAnon", process.pid) <= most:
            show(step)
            if reader.poll(_TICK_SECONDS):
                step = reader.recv()
        failed = f"the export took more than {in_words(most)} of memory"
    except EOFError:
        status = process.wait()
        failed = f"its process ended with status {status}"
        if status == -signal.SIGKILL:
            failed = "its process was killed: there was not enough memory, or someone ended it"
    finally:
        stop_child(process, 0)
        reader.close()
    made = stamp.read(options.repository, model)
    return made or stamp.failed(model, failed, wanted.source, options.speakers)
