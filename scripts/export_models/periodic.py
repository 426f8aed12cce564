"""What is looked at again and again beside other work."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def every(seconds: float, look: Callable[[], None]) -> Iterator[None]:
    """Within the block ``look`` is called in a thread of its own, first after so many seconds."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(seconds):
            look()

    watch = threading.Thread(target=run, daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()
