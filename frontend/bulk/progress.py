"""How far a run is: a bar on a terminal, a line now and then elsewhere, and a line at the end."""

import sys
import time

from tqdm import tqdm

_LINE_SECONDS = 10.0


class Tally:
    """What of items is done, what has failed, how much work it was, and what there was before."""

    def __init__(self) -> None:
        self.done = self.failed = self.before = 0
        self.work = 0.0

    def note(self, work: float, items: int = 1) -> None:
        """Items that are done, and what work they were."""
        self.done, self.work = self.done + items, self.work + work
        self._show(items)

    def note_before(self, items: int) -> None:
        """Items that an earlier run has done, or failed to do."""
        self.before += items
        self._show(items)

    def note_failure(self, items: int = 1) -> None:
        """Items that have failed."""
        self.failed += items
        self._show(items)

    def _show(self, items: int) -> None:
        """So many more have come to something: nobody looks."""


class Progress(Tally):
    """The tally of a run over ``total`` items, whose work is counted in ``unit``, as a person sees it."""

    def __init__(self, total: int, unit: str) -> None:
        super().__init__()
        self.total, self._unit, self._stream = total, unit, sys.stderr
        self._began = self._said = time.monotonic()
        self._start = 0.0
        # Without a terminal there is none.
        self._bar = tqdm(
            total=total, file=self._stream, unit=" items", dynamic_ncols=True, mininterval=0.5, disable=None
        )

    def begin(self, ago: float) -> None:
        """The work began so many seconds ago; what was before is told apart, and is in no rate."""
        began = max(self._began, time.monotonic() - ago)
        self._start, self._began = began - self._began, began

    def tell(self, message: str) -> None:
        """A line that is to be seen, above the bar where there is one."""
        tqdm.write(message, file=self._stream)
        self._stream.flush()

    def _show(self, items: int) -> None:
        self._bar.update(items)
        if self._bar.disable and time.monotonic() - self._said > _LINE_SECONDS:
            self._said = time.monotonic()
            print(self.summary(), file=self._stream, flush=True)

    def summary(self) -> str:
        """What this run has done, and how fast."""
        seconds = max(1e-9, time.monotonic() - self._began)
        rates = f"{self.done / seconds:,.1f} a second, {self.work / seconds:,.1f} {self._unit} a second"
        start = f" after a start of {self._start:,.1f} s" if self._start else ""
        return (
            f"{self.total:,} items, {self.before:,} from earlier runs; "
            f"{self.done:,} done, {self.failed:,} failed in {seconds:,.1f} s{start}: {rates}"
        )

    def close(self) -> None:
        self._bar.close()
