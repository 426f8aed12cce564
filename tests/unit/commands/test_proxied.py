"""Commands that are clients ask a product on this machine without the proxy of the environment."""

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from frontend.__main__ import main
from scripts.local_triton.checks import free_port

_BODY = b'{"error": {"message": "invalid API key", "type": "invalid_api_key", "param": null, "code": null}}'


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


@pytest.mark.parametrize("command", ["verify --facts demo", "bulk embed texts.jsonl --output vectors.jsonl"])
def test_a_product_on_this_machine_is_asked_directly(
    url: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texts.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("QUARTET_API_KEY", "qk_1")
    monkeypatch.setattr(sys, "argv", ["quartet", *command.split(), "--url", url])
    assert main() == 2
    assert "invalid API key" in capsys.readouterr().err
