"""What a person sees of a running export, and what its log has besides: each step of each model."""

import time
from typing import TextIO

from scripts.progress_bar import ProgressBar

# In the log a step of many parts is heard of again at each quarter.
_QUARTERS = 4


class ProgressLine:
    """Tells of ``total`` models, one after the other, on ``screen`` and in ``log``."""

    def __init__(self, screen: TextIO, log: TextIO, total: int) -> None:
        self._bar, self._log = ProgressBar(screen, "exporting", total), log
        self._total, self._finished, self._doing = total, 0, ""
        self._logged: tuple[str, str, int] | None = None
        self._started = time.monotonic()

    def step(self, model: str, name: str, done: int, total: int) -> None:
        """``done`` of ``total`` parts of a step are done."""
        self._doing = f"{model}: {name}" + (f" {100 * done // total}%" if total > 1 else "")
        reached = (model, name, _QUARTERS * done // total if total > 1 else 0)
        if self._logged != reached:
            self._logged = reached
            self._write(self._doing)
        self.tick()

    def note(self, model: str, line: str) -> None:
        """Something that stays on the screen."""
        self._say(f"{model}: {line}")

    def ended(self, model: str, failure: str = "") -> None:
        """A model is done, or has a ``failure``."""
        self._finished += 1
        self._doing = ""
        if failure:
            self._say(f"{model} could not be exported: {failure}")
        self._write(f"{model}: done, {self._finished} of {self._total} models")
        self.tick()

    def tick(self) -> None:
        """Show that time goes on while nothing is heard, once something was."""
        if self._doing or self._finished:
            self._bar.show(self._finished, self._doing)

    def close(self) -> None:
        """Leave the screen to whoever writes next."""
        self._bar.close()

    def _say(self, line: str) -> None:
        self._write(line)
        self._bar.say(line)

    def _write(self, line: str) -> None:
        """With the seconds since the beginning."""
        self._log.write(f"{time.monotonic() - self._started:8.1f} {line}\n")
        self._log.flush()
