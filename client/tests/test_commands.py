"""Both commands print an error as one sentence, and load nothing of the server."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from client.__main__ import COMMANDS
from client.tests.conftest import ROOT
from frontend.__main__ import CLIENTS, main
from scripts.local_triton.checks import free_port

_BODY = b'{"error": {"message": "invalid API key", "type": "invalid_api_key", "param": null, "code": null}}'
_EMBED = "bulk embed in.jsonl --output o.jsonl"
_AT_X = "--url http://x"
_DEMO = "verify --facts demo"


@pytest.mark.parametrize(
    ("command", "key", "sentence"),
    [
        (f"{_EMBED} {_AT_X}", "", "set QUARTET_API_KEY"),
        (_EMBED, "qk", "set QUARTET_URL or --url"),
        (f"{_EMBED} --url x:80", "qk", "begins with http:// or https://"),
        (f"bulk speak in.jsonl --output o {_AT_X}", "qk", "speech needs --voice or --language"),
        (f"bulk embed gone --output o.jsonl {_AT_X}", "qk", "there is no such file or folder"),
        (f"bulk embed . --output o.jsonl {_AT_X} --ray local", "qk", "pip install '.[ray]'"),
        ("bulk embed . --output /proc/o.jsonl --url http://x", "qk", "/proc/o.jsonl.run: "),
        (f"verify {_AT_X}", "qk", "set QUARTET_FACTS or --facts"),
        (_DEMO, "qk", "set QUARTET_URL or --url"),
        (f"{_DEMO} {_AT_X}", "", "set QUARTET_API_KEY or --key"),
        (f"{_DEMO} --url x:80", "qk", "begins with http:// or https://"),
        (f"verify --facts gone {_AT_X}", "qk", "gone: No such file or directory"),
        (f"{_DEMO} --url http://127.0.0.1:{{port}}", "qk", "Cannot connect"),
        (f"verify --facts hub {_AT_X} --models /nowhere", "qk", "/nowhere/m3_embedder/1"),
        (f"{_DEMO} {_AT_X} --record f.json", "qk", "set QUARTET_PRECISION"),
    ],
)
def test_an_error_is_one_sentence(
    command: str, key: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUARTET_API_KEY", key)
    # Ray is not installed for tests.
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(sys, "argv", ["quartet", *command.replace("{port}", str(free_port())).split()])
    assert main() == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert (len(printed.err.splitlines()), printed.out) == (1, "")


@pytest.mark.parametrize("module", ["frontend", "client"])
def test_the_commands_load_nothing_of_the_server(module: str) -> None:
    code = f"""
import sys
from {module}.__main__ import main
for command in {COMMANDS}:
    sys.argv = ["quartet", command, "--help"]
    try:
        main()
    except SystemExit:
        pass
server = {{"sqlalchemy", "onnxruntime", "redis", "tritonclient", "pyarrow", "ray"}}
sys.exit(", ".join(server & sys.modules.keys()) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"usage: quartet {command}" in done.stdout for command in COMMANDS)


def test_the_commands_are_listed_with_those_of_the_server() -> None:
    assert tuple(CLIENTS) == COMMANDS


class _Refusal(BaseHTTPRequestHandler):
    """Knows no key."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(401)
        self.send_header("Content-Length", str(len(_BODY)))
        self.end_headers()
        self.wfile.write(_BODY)

    do_POST = do_GET  # noqa: N815 - the library's name

    def log_message(self, format: str, *values: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusal) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("command", [_DEMO, _EMBED])
def test_requests_to_this_machine_bypass_the_proxy_of_the_environment(
    url: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("QUARTET_API_KEY", "qk_1")
    monkeypatch.setattr(sys, "argv", ["quartet", *command.split(), "--url", url])
    assert main() == 2
    assert "invalid API key" in capsys.readouterr().err
