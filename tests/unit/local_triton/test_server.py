"""Loading of models, and the end of a server and a child, which leaves nothing behind."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts.local_triton import server
from scripts.local_triton.checks import free_port
from scripts.local_triton.child import start_child, stop_child
from scripts.local_triton.server import LocalTriton, Ports, TritonFailedError
from tests.conftest import ROOT
from tests.eventually import until


class _Control(ThreadingHTTPServer):
    """Triton's model control: it loads ``quick`` at once, ``broken`` never, and others when ``let`` is set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Load)
        self.let = threading.Event()
        self.loaded: list[str] = []


class _Load(BaseHTTPRequestHandler):
    server: _Control

    def do_POST(self) -> None:
        name = self.path.split("/")[-2]
        if name not in ("quick", "broken"):
            self.server.let.wait(60)
        body = b'{"error": "no such file"}' if name == "broken" else b""
        if not body:
            self.server.loaded.append(name)
        self.send_response(400 if body else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

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


@pytest.fixture
def triton(control: _Control, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalTriton]:
    monkeypatch.setattr(server, "_POLL_SECONDS", 0.2)
    launcher = LocalTriton(tmp_path, tmp_path, Ports(http=control.server_port))
    yield launcher
    launcher.stop(at_once=True)


def _start(triton: LocalTriton, script: str) -> None:
    """A shell takes the place of the server."""
    triton._process = start_child(["sh", "-c", f"cd {triton.repository}; {script}"], os.environ, triton.log)


def test_an_interrupt_does_not_wait_for_models_that_still_load(control: _Control, triton: LocalTriton) -> None:
    def interrupt(ready: int) -> None:
        if ready:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        triton.load(["quick", "slow"], interrupt)
    assert control.loaded == ["quick"]


def test_a_model_that_does_not_load_is_an_error(triton: LocalTriton) -> None:
    with pytest.raises(TritonFailedError, match="broken could not load: no such file"):
        triton.load(["broken"])


def test_other_models_load_if_the_caller_handles_failures(control: _Control, triton: LocalTriton) -> None:
    _start(triton, "exec sleep 60")
    failed: dict[str, TritonFailedError] = {}
    triton.load(["broken", "quick"], failed=failed.__setitem__)
    assert control.loaded == ["quick"]
    assert {name: str(error) for name, error in failed.items()} == {"broken": "broken could not load: no such file"}


def test_a_triton_that_has_stopped_is_an_error_of_no_model(tmp_path: Path) -> None:
    triton = LocalTriton(tmp_path, tmp_path, Ports(http=free_port()))
    failed: dict[str, TritonFailedError] = {}
    with pytest.raises(TritonFailedError, match="Triton stopped"):
        triton.load(["quick"], failed=failed.__setitem__)
    assert failed == {}


def test_the_model_whose_process_died_is_named_and_the_others_load(control: _Control, triton: LocalTriton) -> None:
    """Two stubs, with the names of their models as Triton gives them; the first dies while both load."""
    stub = f"sh -c 'until [ -e $0 ]; do sleep 0.05; done' {{model}} {triton._prefix} {{model}}_0_0"
    dying, slow = (stub.format(model=name) for name in ("dying", "slow"))
    _start(triton, f"{dying} & {slow} & exec sleep 60")
    failed: dict[str, TritonFailedError] = {}

    def load(model: str, error: TritonFailedError) -> None:
        failed[model] = error
        control.let.set()

    triton.load(["dying", "slow"], lambda ready: (triton.repository / "dying").touch(), load)
    assert [str(error).partition(":")[0] for error in failed.values()] == ["dying's process ended"]
    assert "slow" in control.loaded


def test_requests_to_triton_bypass_the_proxy_of_the_environment(
    control: _Control, triton: LocalTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("no_proxy", raising=False)
    triton.load(["quick"])
    assert control.loaded == ["quick"]


def test_the_error_of_a_dead_process_has_its_last_line(triton: LocalTriton) -> None:
    # Like Triton, the parent does not wait for the stub.
    stub = "until [ -e loading ]; do sleep 0.05; done; echo bash: line 1: /a: not found; echo I1125 loading"
    _start(triton, f"({stub}) & exec sleep 60")
    reason = f"process ended: bash: line 1: /a: not found; the log is {triton.log}"
    with pytest.raises(TritonFailedError, match=reason):
        triton.load(["quick", "slow"], lambda ready: (triton.repository / "loading").touch())


def test_a_triton_that_answers_too_late_did_not_stop(triton: LocalTriton, monkeypatch: pytest.MonkeyPatch) -> None:
    _start(triton, "exec sleep 60")
    monkeypatch.setattr(server, "_LOAD_SECONDS", 0.1)
    with pytest.raises(TritonFailedError, match="slow did not load in 0.1 s"):
        triton.load(["slow"])


def test_a_triton_that_stops_while_a_model_loads_is_noticed(triton: LocalTriton) -> None:
    _start(triton, "sleep 0.5")
    with pytest.raises(TritonFailedError, match="Triton stopped"):
        triton.load(["slow"])


def test_a_triton_that_waits_for_the_end_of_a_process_that_lives_is_stopped(triton: LocalTriton) -> None:
    _start(triton, "sleep 60; true")
    with pytest.raises(TritonFailedError, match="Triton stopped"):
        triton.load(["slow"])
    assert not triton.alive()


def test_a_triton_that_waits_for_a_moment_loads_on(control: _Control, triton: LocalTriton) -> None:
    _start(triton, "sleep 0.5; exec sleep 60")
    triton.load(["slow"], lambda ready: threading.Timer(2.0, control.let.set).start())
    assert control.loaded == ["slow"]


@pytest.mark.parametrize(("at_once", "status"), [(False, 0), (True, -signal.SIGKILL)])
def test_a_stop_waits_for_triton_unless_it_is_at_once(at_once: bool, status: int, triton: LocalTriton) -> None:
    # It takes a moment to end, like a Triton that loads a model.
    _start(triton, "trap 'sleep 1; exit 0' TERM; touch trapped; while :; do sleep 0.05; done")
    process = triton._process
    assert process is not None
    while not (triton.repository / "trapped").exists():
        assert process.poll() is None
    triton.stop(at_once=at_once)
    assert process.returncode == status


def _runs(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_the_process_group_of_a_child_ends_with_it(tmp_path: Path) -> None:
    child = start_child(["sh", "-c", "sleep 600 & echo $!"], os.environ, tmp_path / "log")
    child.wait()
    left = (tmp_path / "log").read_text().strip()
    assert _runs(left)
    stop_child(child, 0)
    await until(lambda: not _runs(left))


def _child_of_a_killed_parent(log: Path) -> str:
    code = (
        "import os, sys; from pathlib import Path; from scripts.local_triton.child import start_child\n"
        "print(start_child(['sleep', '600'], os.environ, Path(sys.argv[1])).pid, flush=True); sys.stdin.read()"
    )
    command, pipe = [sys.executable, "-c", code, str(log)], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout is not None
        child = parent.stdout.readline().strip()
        assert _runs(child)
        parent.kill()
    return child


async def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    child = _child_of_a_killed_parent(tmp_path / "log")
    await until(lambda: not _runs(child))
