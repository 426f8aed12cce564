"""What the proxy that the product ships does before a request reaches a frontend, and when there is none."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import proxy as proxies
from tests.tools import needed

_HEADER_SECONDS = 1.0


class _Answers(BaseHTTPRequestHandler):
    """Stands for a frontend: everything is 200, once its body was read."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET  # noqa: N815 - http.server's name

    def log_message(self, *arguments: object) -> None:
        return


@pytest.fixture
def frontend() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def port(frontend: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Of the proxy, which waits for a head a tenth of what it does."""
    text = proxies.config(None)
    assert text.count("read_header 10s") == 1
    monkeypatch.setattr(proxies, "config", lambda port: text.replace("10s", f"{_HEADER_SECONDS:g}s"))
    program = needed(proxies.caddy(), "Caddy")
    with proxies.proxy(tmp_path, program, [f"127.0.0.1:{frontend.server_port}"]) as port:
        yield port


def _ask(port: int, method: str, path: str, body: bytes = b"") -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers, content


def test_a_head_that_comes_slowly_is_cut_off_and_others_are_answered(port: int) -> None:
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as slow:
        slow.sendall(b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        slow.settimeout(0.1)
        while time.monotonic() < began + 20:
            assert _ask(port, "GET", "/v1/models")[0] == 200
            try:
                slow.sendall(b"X: y\r\n")
                if not slow.recv(1_000):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
    assert 0.9 * _HEADER_SECONDS < time.monotonic() - began < 10


def test_private_paths_are_hidden(port: int) -> None:
    paths = ("/metrics", "/health/ready", "/admin/v1/keys", "/keys", "/v1/models")
    assert [_ask(port, "GET", path)[0] for path in paths] == [404, 404, 404, 404, 200]


def test_a_body_over_32_mb_is_refused_in_the_form_of_the_api(port: int) -> None:
    status, _, content = _ask(port, "POST", "/v1/audio/transcriptions", bytes(33 * 1024 * 1024))
    assert (status, json.loads(content)["error"]["type"]) == (413, "request_too_large")
    assert _ask(port, "POST", "/v1/audio/transcriptions", bytes(26 * 1024 * 1024))[0] == 200


def test_without_a_frontend_it_is_502_in_the_form_of_the_api(port: int, frontend: ThreadingHTTPServer) -> None:
    frontend.shutdown()
    frontend.server_close()
    status, headers, content = _ask(port, "GET", "/v1/models")
    assert (status, headers["Retry-After"], json.loads(content)["error"]["type"]) == (502, "5", "bad_gateway")
