"""What a person sees of a running export, and what its log has besides: each step of each model."""

import time
from typing import Any, TextIO

from scripts.progress_bar import ProgressBar

# In the log a step of many parts is heard of again at each quarter.
_QUARTERS = 4


class ProgressLine:
    """Tells of ``total`` models on ``screen`` and in ``log``; ``heard`` takes what workers send."""

    def __init__(self, screen: TextIO, log: TextIO, total: int) -> None:
        self._bar, self._log = ProgressBar(screen, "exporting", total), log
        self._total, self._finished = total, 0
        self._steps: dict[str, str] = {}
        self._logged: dict[str, tuple[str, int]] = {}
        self._started = time.monotonic()

    def heard(self, event: tuple[Any, ...]) -> None:
        """Take ``(kind, model, ...)``: a step with its parts done and in all, or a note."""
        kind, model, *rest = event
        if kind == "step":
            self._step(model, *rest)
        else:
            self._say(f"{model}: {rest[0]}")
        self.tick()

    def ended(self, model: str, failure: str) -> None:
        """A model is done, or has a ``failure``."""
        self._finished += 1
        self._steps.pop(model, None)
        if failure:
            self._say(f"{model} could not be exported: {failure}")
        self._write(f"{model}: done, {self._finished} of {self._total} models")
        self.tick()

    def tick(self) -> None:
        """Show that time goes on while nothing is heard, once something was."""
        if self._steps or self._finished:
            self._bar.show(self._finished, ", ".join(self._steps.values()))

    def close(self) -> None:
        """Leave the screen to whoever writes next."""
        self._bar.close()

    def _step(self, model: str, name: str, done: int, total: int) -> None:
        self._steps[model] = f"{model}: {name}" + (f" {100 * done // total}%" if total > 1 else "")
        reached = (name, _QUARTERS * done // total if total > 1 else 0)
        if self._logged.get(model) != reached:
            self._logged[model] = reached
            self._write(self._steps[model])

    def _say(self, line: str) -> None:
        self._write(line)
        self._bar.say(line)

    def _write(self, line: str) -> None:
        """With the seconds since the beginning."""
        self._log.write(f"{time.monotonic() - self._started:8.1f} {line}\n")
        self._log.flush()
