"""How far something is: one bar on a terminal, anywhere else a line now and then."""

import time
from typing import TextIO

# Without a terminal a line comes so long after the last one at the earliest, and where nothing has changed, later.
_LINE_SECONDS = 10.0
_SILENCE_SECONDS = 30.0


class ProgressBar:
    """``total`` models on their way, told on ``screen``."""

    def __init__(self, screen: TextIO, what: str, total: int) -> None:
        # Whoever is told what is wrong before anything is installed has it not.
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
        self._started, self._told_at, self._told = time.monotonic(), float("-inf"), ""

    def show(self, done: int, doing: str = "") -> None:
        """So many models are done, and this is what goes on; to be called at least every second or so."""
        if not self._bar.disable:
            self._bar.n = done
            self._bar.set_postfix_str(doing)
            return
        text, now = f"{self._what} {done}/{self._total} models, {doing}".rstrip(", "), time.monotonic()
        if now - self._told_at >= (_SILENCE_SECONDS if text == self._told else _LINE_SECONDS):
            self._told_at, self._told = now, text
            self.say(f"{self._bar.format_interval(now - self._started)} {text}")

    def say(self, line: str) -> None:
        """A line that stays on the screen."""
        self._bar.write(line, file=self._screen)
        self._screen.flush()

    def close(self) -> None:
        """Take the bar away, for whoever writes next."""
        self._bar.close()
