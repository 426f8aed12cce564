"""How an export reports its progress."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

Item = TypeVar("Item")

# Between two reports of a download.
_DOWNLOAD_SECONDS = 1.0


@contextmanager
def repeated(seconds: float, work: Callable[[], None]) -> Iterator[None]:
    """Call ``work`` every ``seconds`` within the block, in a thread of its own."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(seconds):
            work()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Progress:
    """Receives the steps of a model's export; this one ignores them."""

    def step(self, name: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` parts of the step ``name`` are done."""

    def over(self, items: Sequence[Item], name: str) -> Iterator[Item]:
        """Yield the items, each as a part of the step ``name``."""
        for done, item in enumerate(items):
            self.step(name, done, len(items))
            yield item
        self.step(name, len(items), len(items))

    @contextmanager
    def downloading(self, name: str, size: int, arrived: Callable[[], int]) -> Iterator[None]:
        """Report every second within the block how many of ``size`` bytes have ``arrived``."""

        def report() -> None:
            # The downloader moves files away while they are counted.
            with suppress(FileNotFoundError):
                self.step(f"downloading {name}", min(arrived(), size), size)

        with repeated(_DOWNLOAD_SECONDS, report):
            yield


SILENT = Progress()
