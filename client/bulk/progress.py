"""Progress of a run: a bar on a terminal, occasional lines elsewhere, and a final line."""

import sys
import time

from tqdm import tqdm

_LINE_SECONDS = 10.0


class Tally:
    """Counts items that are done, failed, or from earlier runs, and work."""

    def __init__(self) -> None:
        self.done = self.failed = self.before = 0
        self.work = 0.0

    def note(self, done: int = 0, work: float = 0.0, failed: int = 0, before: int = 0) -> None:
        """Add items that are done, with their work; that failed; or that are from an earlier run."""
        self.done, self.work = self.done + done, self.work + work
        self.failed, self.before = self.failed + failed, self.before + before

    def report(self, message: str) -> None:
        """Print nothing."""


class Progress(Tally):
    """Shows the tally of a run over ``total`` items, with work in ``unit``."""

    def __init__(self, total: int, unit: str) -> None:
        super().__init__()
        self.total, self._unit, self._stream = total, unit, sys.stderr
        self._began = self._said = time.monotonic()
        self._start = 0.0
        # It has no output without a terminal.
        self._bar = tqdm(
            total=total, file=self._stream, unit=" items", dynamic_ncols=True, mininterval=0.5, disable=None
        )

    def begin(self, ago: float) -> None:
        """The work began ``ago`` seconds ago. Rates leave out the start-up before it, which is reported separately."""
        began = max(self._began, time.monotonic() - ago)
        self._start, self._began = began - self._began, began

    def note(self, done: int = 0, work: float = 0.0, failed: int = 0, before: int = 0) -> None:
        super().note(done, work, failed, before)
        self._bar.update(done + failed + before)
        if self._bar.disable and time.monotonic() - self._said > _LINE_SECONDS:
            self._said = time.monotonic()
            print(self.summary(), file=self._stream, flush=True)

    def report(self, message: str) -> None:
        tqdm.write(message, file=self._stream)
        self._stream.flush()

    def summary(self) -> str:
        """The items done by this run, and the rate."""
        seconds = max(1e-9, time.monotonic() - self._began)
        rates = f"{self.done / seconds:,.1f} a second, {self.work / seconds:,.1f} {self._unit} a second"
        start = f" after a start of {self._start:,.1f} s" if self._start else ""
        return (
            f"{self.total:,} items, {self.before:,} from earlier runs; "
            f"{self.done:,} done, {self.failed:,} failed in {seconds:,.1f} s{start}: {rates}"
        )

    def close(self) -> None:
        self._bar.close()
