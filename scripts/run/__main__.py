"""Run Quartet on one machine without Docker: export missing models, start Triton and the frontend, stop both.

python -m scripts.run --models demo --port 8080
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
from frontend.config.reading import SettingsError
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.plan import SOME_FAILED
from scripts.local_triton.checks import PreflightError
from scripts.local_triton.child import die_with_parent
from scripts.run import preflight
from scripts.run.export import export
from scripts.run.state import folder_in_use, models_in_use

# See docs/models.md, "The demo models".
DEMO_BOUNDS = "The demo's models are small: Whisper is base, and the German voice has a Spanish accent."


def _export(choice: preflight.Choice) -> None:
    if (status := export(choice)) not in (0, SOME_FAILED):
        raise subprocess.CalledProcessError(status, "the export")


def _run(choice: preflight.Choice) -> int:
    preflight.check(choice)
    with folder_in_use(choice.state, preflight.port_of(choice.port)) as ending:
        if choice.models == "demo":
            print(DEMO_BOUNDS, flush=True)
        # Its imports take seconds; the checks come first.
        from scripts.run import launch

        stack = launch.prepare(choice)
        if stack is None:
            return 1
        with models_in_use(choice.models_text, lambda: _export(choice)):
            return launch.launch(stack, choice, ending=ending)


def main() -> int:
    exclude_this_machine(os.environ)
    parser = argparse.ArgumentParser(description="Run Quartet on this machine.")
    preflight.add_arguments(parser)
    parser.add_argument("--end-with-parent", action="store_true", help="stop when the caller (make) is killed")
    given = vars(parser.parse_args())
    if given.pop("end_with_parent"):
        die_with_parent()
    try:
        return _run(preflight.Choice("run", **given))
    except (PreflightError, SettingsError, SourceError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    except subprocess.CalledProcessError:
        return 1


if __name__ == "__main__":
    sys.exit(main())
