"""Loading ends when whoever waits for it is interrupted, and a server at once where nobody waits for it."""

import os
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts.local_triton.child import start_child
from scripts.local_triton.server import LocalTriton, Ports


class _Control(ThreadingHTTPServer):
    """Triton's model control, which loads ``quick`` at once and every other model only when it is let."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Load)
        self.let = threading.Event()
        self.loaded: list[str] = []


class _Load(BaseHTTPRequestHandler):
    server: _Control

    def do_POST(self) -> None:
        name = self.path.split("/")[-2]
        if name != "quick":
            self.server.let.wait(60)
        self.server.loaded.append(name)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *values: object) -> None:
        pass


@pytest.fixture
def control() -> Iterator[_Control]:
    with _Control() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server
        server.let.set()
        server.shutdown()
        serving.join()


def test_an_interrupt_does_not_wait_for_models_that_still_load(control: _Control, tmp_path: Path) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    triton = LocalTriton(tmp_path, tmp_path, Ports(http=control.server_port))
    with pytest.raises(KeyboardInterrupt):
        triton.load(["quick", "slow"], interrupt)
    assert control.loaded == ["quick"]


@pytest.mark.parametrize(("at_once", "status"), [(False, 0), (True, -signal.SIGKILL)])
def test_it_is_waited_for_unless_it_shall_end_at_once(at_once: bool, status: int, tmp_path: Path) -> None:
    triton = LocalTriton(tmp_path, tmp_path)
    # Takes a moment to end, as a Triton does that loads a model.
    script = "trap 'sleep 1; exit 0' TERM; touch trapped; while :; do sleep 0.05; done"
    process = start_child(["sh", "-c", f"cd {tmp_path}; {script}"], os.environ, tmp_path / "log")
    while not (tmp_path / "trapped").exists():
        assert process.poll() is None
    triton._process = process
    triton.stop(at_once=at_once)
    assert process.returncode == status
