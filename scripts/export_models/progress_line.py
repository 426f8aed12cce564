"""What a person sees of a running export: a line that is written over on a terminal, a line a step anywhere else."""

import shutil
import time
from typing import Any, TextIO

# Without a terminal a long step is heard of again at each quarter, and when nothing was told for so long.
_QUARTERS = 4
_SILENCE_SECONDS = 30.0


class ProgressLine:
    """Tells of ``total`` models on ``stream``; ``heard`` takes what workers send."""

    def __init__(self, stream: TextIO, total: int) -> None:
        self._stream, self._total, self._finished = stream, total, 0
        self._terminal = stream.isatty()
        self._steps: dict[str, str] = {}
        self._told: dict[str, tuple[str, int]] = {}
        self._started = self._written = time.monotonic()

    def heard(self, event: tuple[Any, ...]) -> None:
        """Take ``(kind, model, ...)``: a step with its parts done and in all, a note, or the end of a model."""
        kind, model, *rest = event
        if kind == "step":
            self._step(model, *rest)
        elif kind == "note":
            self._write(f"{model}: {rest[0]}")
        else:
            self._finished += 1
            self._steps.pop(model, None)
            self._write(f"{model}: done, {self._finished} of {self._total} models")

    def tick(self) -> None:
        """Show that time goes on while nothing is heard."""
        if self._terminal:
            self._redraw()
        elif self._steps and time.monotonic() - self._written >= _SILENCE_SECONDS:
            self._write(self._running())

    def close(self) -> None:
        """Leave the line empty for whoever writes next."""
        if self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _step(self, model: str, name: str, done: int, total: int) -> None:
        self._steps[model] = f"{model}: {name}" + (f" {100 * done // total}%" if total > 1 else "")
        if self._terminal:
            self._redraw()
            return
        reached = (name, _QUARTERS * done // total if total > 1 else 0)
        if self._told.get(model) != reached:
            self._told[model] = reached
            self._write(self._steps[model])

    def _running(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        return "  ".join([f"{minutes}:{seconds:02} {self._finished}/{self._total} models", *self._steps.values()])

    def _write(self, line: str) -> None:
        self._written = time.monotonic()
        self._stream.write(f"\r\x1b[K{line}\n" if self._terminal else f"{line}\n")
        self._stream.flush()
        if self._terminal:
            self._redraw()

    def _redraw(self) -> None:
        line = self._running()[: shutil.get_terminal_size().columns - 1]
        self._stream.write(f"\r\x1b[K{line}")
        self._stream.flush()
