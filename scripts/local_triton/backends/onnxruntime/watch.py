"""End a run that nobody waits for any more: a text of thousands of tokens takes a processor seconds."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

_LOOK_SECONDS = 0.05


class Request(Protocol):
    """Triton's request, as far as it matters here."""

    def is_cancelled(self) -> bool: ...


class Watch:
    """One thread beside the runs of an instance."""

    def __init__(self) -> None:
        # A request must not be asked once Triton has its answer, so whoever asks and whoever ends take turns.
        self._turn = threading.Lock()
        self._running = threading.Event()
        self._requests: Sequence[Request] = ()
        self._options: Any = None
        threading.Thread(target=self._look, daemon=True).start()

    @contextmanager
    def over(self, requests: Sequence[Request], options: Any) -> Iterator[None]:
        """While a run with these ``options`` goes on: ONNX Runtime ends it soon after all requests are cancelled."""
        with self._turn:
            self._requests, self._options = requests, options
        self._running.set()
        try:
            yield
        finally:
            self._running.clear()
            with self._turn:
                self._requests, self._options = (), None

    def _look(self) -> None:
        while True:
            self._running.wait()
            time.sleep(_LOOK_SECONDS)
            with self._turn:
                if self._requests and all(request.is_cancelled() for request in self._requests):
                    self._options.terminate = True
                    self._requests = ()
