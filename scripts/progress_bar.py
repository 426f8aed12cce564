"""Progress as a bar on a terminal, and as occasional lines elsewhere."""

import time
from typing import TextIO

# Without a terminal: least seconds between two lines, and between two equal lines.
_LINE_SECONDS = 10.0
_REPEAT_SECONDS = 30.0


class ProgressBar:
    """The progress of ``total`` models, on ``screen``."""

    def __init__(self, screen: TextIO, what: str, total: int) -> None:
        # Preflight imports this module before anything is installed.
        from tqdm import tqdm

        self._screen, self._what, self._total = screen, what, total
        shape = "{desc} {bar:20} {n_fmt}/{total_fmt} models {elapsed}{postfix}"
        self._bar = tqdm(
            total=total,
            desc=what,
            file=screen,
            disable=not screen.isatty(),
            leave=False,
            dynamic_ncols=True,
            bar_format=shape,
        )
        self._started, self._printed_at, self._printed = time.monotonic(), float("-inf"), ""

    def show(self, done: int, doing: str = "") -> None:
        """Show how many models are done and what happens now; call this about once a second."""
        if not self._bar.disable:
            self._bar.n = done
            self._bar.set_postfix_str(doing)
            return
        text, now = f"{self._what} {done}/{self._total} models, {doing}".rstrip(", "), time.monotonic()
        if now - self._printed_at >= (_REPEAT_SECONDS if text == self._printed else _LINE_SECONDS):
            self._printed_at, self._printed = now, text
            self.say(f"{self._bar.format_interval(now - self._started)} {text}")

    def say(self, line: str) -> None:
        """Print a line that stays on the screen."""
        self._bar.write(line, file=self._screen)
        self._screen.flush()

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()
