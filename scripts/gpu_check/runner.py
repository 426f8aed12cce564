"""Runs one part in a process of its own, so that what one lacks or breaks does not end the others."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from scripts.benchmark.common.summary import Spread
from scripts.export_models.parity import Check
from scripts.gpu_check.found import nvidia_libraries
from scripts.gpu_check.job import Row

# Longer than a part takes at full size on two processor cores.
_MOST_SECONDS = 1800.0
_PATH = "LD_LIBRARY_PATH"

State = Literal["ran", "skipped", "failed"]
# A fact by its name, a comparison, a measurement, or the end.
Found = tuple[str, Any] | Check | Row | None


@dataclass
class Outcome:
    """What came of one part; ``reason`` says why it was skipped or failed."""

    part: str
    state: State = "failed"
    reason: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether it ran and is right, or could not run."""
        return self.state != "failed" and not any(check.failed for check in self.checks)

    def take(self, said: dict[str, Any]) -> Found:
        """Count in what the part says."""
        kind = said.pop("kind")
        if kind == "fact":
            self.facts[said["name"]] = said["value"]
            return str(said["name"]), said["value"]
        if kind == "check":
            self.checks.append(Check(**said))
            return self.checks[-1]
        if kind == "row":
            seconds = said.pop("seconds")
            self.rows.append(Row(**said, seconds=Spread(**seconds) if seconds else None))
            return self.rows[-1]
        self.state, self.reason = "ran" if kind == "done" else kind, said.get("reason", "")
        return None


def run(
    part: str, arguments: list[str], log: Path, hear: Callable[[Found], None], most_seconds: float = _MOST_SECONDS
) -> Outcome:
    """Run a part; ``hear`` is called with what it finds, as it does."""
    outcome = Outcome(part)
    command = [sys.executable, "-m", "scripts.gpu_check.worker", part, *arguments]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=_environment(), text=True) as process,
    ):
        assert process.stdout is not None
        deadline = threading.Timer(most_seconds, process.kill)
        deadline.start()
        try:
            for line in process.stdout:
                hear(outcome.take(json.loads(line)))
        finally:
            late = not deadline.is_alive()
            deadline.cancel()
    if outcome.state == "failed" and not outcome.reason:
        end = f"not done after {most_seconds:.0f} s" if late else _end(process.returncode)
        outcome.reason = f"{end}; its log is {log}"
    return outcome


def _environment() -> dict[str, str]:
    """CUDA's libraries that packages brought are found behind those that the machine names itself."""
    named = [os.environ[_PATH]] if os.environ.get(_PATH) else []
    return {**os.environ, _PATH: os.pathsep.join([*named, *nvidia_libraries()])}


def _end(status: int) -> str:
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
