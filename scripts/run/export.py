"""Exports a choice of models into the model repository, unless a Quartet of this folder runs on it.

    python -m scripts.run.export --models demo

The exit code is that of ``scripts.export_models``, and 2 if the models are in use.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C ends it at once, without a traceback, even if the caller ignores SIGINT.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import os
import subprocess
import sys

from frontend.config.proxies import exclude_this_machine
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.plan import NONE_LEFT
from scripts.local_triton.checks import PreflightError
from scripts.local_triton.child import die_with_parent
from scripts.run import preflight
from scripts.run.state import REPOSITORY, models_in_use


def export(choice: preflight.Choice) -> int:
    """Export, and return the exit code. The caller has the lock of the models."""
    command = [sys.executable, "-m", "scripts.export_models", "--source", choice.models]
    command += ["--repository", str(REPOSITORY), "--precision", choice.precision]
    command += ["--folder", choice.folder] if choice.folder else []
    command += ["--voices", choice.voices_folder] if choice.voices_folder else []
    command += ["--strict"] if choice.strict else []
    # It ends with this process, and prints its own errors.
    return subprocess.call(command, preexec_fn=die_with_parent)


def main() -> int:
    exclude_this_machine(os.environ)
    parser = argparse.ArgumentParser(description="Export models, unless a Quartet of this folder runs on them.")
    preflight.add_arguments(parser)
    choice, done = preflight.Choice("export", **vars(parser.parse_args())), list[int]()
    try:
        with models_in_use(choice.models_text, lambda: done.append(export(choice))):
            if not done:
                print("a Quartet of this folder runs on these models, so they stay as they are")
            return sum(done)
    except (PreflightError, SourceError) as error:
        print(error, file=sys.stderr)
        return NONE_LEFT


if __name__ == "__main__":
    sys.exit(main())
