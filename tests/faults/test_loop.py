"""No request keeps the event loop from the others for longer than 20 ms, however it is made.

What attacks the transport comes through the proxy. The bare port survives it: slower for others, but never down, and
with bounded memory.
"""

import asyncio
import contextlib
import json
import os
import socket
import statistics
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
import sqlalchemy as sa

from frontend.administration.registry import Registry
from frontend.config.reading import PREFIX
from frontend.database.engine import open_engine
from frontend.database.tables import KEYS, USAGE_DAYS
from tests.faults.cases_audio import FILE, field, form, part, upload
from tests.faults.cases_http import EMBED, RERANK, SPEECH, TRANSCRIBE
from tests.frontends import Frontend, prepare, running
from tests.loop_watch import REPORTS
from tests.proxy import caddy, proxy
from tests.raw import head, post
from tests.tools import needed

pytestmark = pytest.mark.alone

_MOST_MS = 20.0
_TRIES = 6
_MANY, _MANY_BARE = 100, 6
_MB = 1024 * 1024
_ANSWER_SECONDS = 20.0
_QUIET_SECONDS = 0.15
# What others wait for a bare port under attack, and the memory that the attack may take: that of its connections' heads
# and of what the kernel hands over at once, as Python's objects.
_PATIENCE_SECONDS = 2.0
_MOST_MEMORY = 300 * _MB
FORM = "Content-Type: multipart/form-data; boundary=x"
CHUNKED = "Transfer-Encoding: chunked"


def _json(path: str, body: object, *, ascii_only: bool = True) -> bytes:
    return post(path, json.dumps(body, ensure_ascii=ascii_only).encode())


# Made when they are sent: together they take long to make, and hundreds of megabytes.
CASES: dict[str, Callable[[], bytes]] = {
    "4 MB of empty lists": lambda: post(EMBED, b'{"input":[' + b"[]," * 1_390_000 + b"[]]}"),
    "4 MB of empty objects": lambda: post(EMBED, b'{"input":[' + b"{}," * 1_390_000 + b"{}]}"),
    "4 MB of names": lambda: post(EMBED, b"{" + b",".join(b'"%07x":0' % n for n in range(340_000)) + b"}"),
    "4 MB of escapes": lambda: post(EMBED, b'{"input":"' + b'\\"' * 2_000_000 + b'"}'),
    "30 kB of empty objects": lambda: post(EMBED, b'{"input":[' + b"{}," * 10_000 + b"{}]}"),
    "4 MB of blanks": lambda: post(EMBED, b'{"input":"' + b" " * 4_000_000 + b'x"}'),
    "32 texts of 128 kB": lambda: _json(EMBED, {"input": ["word " * 26_000] * 32}),
    "32 texts of dots": lambda: _json(EMBED, {"input": ["." * 131_000] * 32}),
    "32 Chinese texts": lambda: _json(EMBED, {"input": ["\u597d" * 43_000] * 32}, ascii_only=False),
    "32 documents of 128 kB": lambda: _json(RERANK, {"query": "q " * 8_000, "documents": ["word, " * 21_000] * 32}),
    "documents that come back": lambda: _json(
        RERANK, {"query": "q", "documents": ["word, " * 21_000] * 32, "return_documents": True}
    ),
    "documents as objects of everything": lambda: _json(
        "/v2/rerank", {"query": "q", "documents": [{"text": "word, " * 10_000, "more": [{}] * 17_000}] * 32}
    ),
    "5000 dots": lambda: _json(SPEECH, {"input": "." * 4990 + "! a b", "voice": "amy"}),
    "5000 characters as WAV": lambda: _json(SPEECH, {"input": "Hello you. " * 454, "voice": "amy"}),
    "5000 characters as MP3": lambda: _json(
        SPEECH, {"input": "Hello you. " * 454, "voice": "amy", "response_format": "mp3"}
    ),
    "25 MB of noise": lambda: upload(os.urandom(25 * _MB)),
    "25 MB of line ends": lambda: upload(b"\r\n" * (12 * _MB)),
    "25 MB of half a boundary": lambda: upload(b"\r\n--" * (6 * _MB)),
    "a preamble of line ends": lambda: post(TRANSCRIBE, b"\n" * 8_000_000, FORM),
    "60 parts with long heads": lambda: form(
        *(part(f'Content-Disposition: form-data; name="p{n}"' + ';a="' * 1000, b"1") for n in range(60)), end=b""
    ),
    "a table of 9,000 users": lambda: head("GET", "/dashboard/data/usage?by=day,key&format=csv"),
    "a temperature of 60,000 digits": lambda: form(part(FILE, b"x"), field("temperature", b"1" * 60_000 + b"x")),
}
_UNENDED = "an unknown method before blanks"
# Of the transport.
TRANSPORT: dict[str, Callable[[], bytes]] = {
    "a body in chunks of a byte": lambda: head("POST", EMBED, CHUNKED) + b"1\r\nx\r\n" * 500_000,
    "a form in chunks of a byte": lambda: head("POST", TRANSCRIBE, CHUNKED, FORM) + b"1\r\nx\r\n" * 500_000,
    "an unwanted body in chunks of a byte": lambda: head("POST", "/health/live", CHUNKED) + b"1\r\nx\r\n" * 500_000,
    "requests one after the other": lambda: head("GET", "/v1/models") * 1_200,
    "requests with many headers": lambda: head("GET", "/v1/models", *(f"X-{n}: 1" for n in range(120))) * 1_000,
    "line ends before a request": lambda: b"\r\n" * 2_000_000,
    "a head that never ends": lambda: head("GET", "/v1/models")[:-2] + (b"X: " + b"b" * 16_000 + b"\r\n") * 1_000,
    "large heads behind a request": lambda: (
        post(EMBED, b'{"input": "a"}') + head("GET", "/", *(f"X-{n}: {'b' * 16_000}" for n in range(99))) * 9
    ),
    _UNENDED: lambda: b"BREW / HTTP/1.1\r\nX-Request-Id:" + b" " * 32_000,
}


async def _use(database: str) -> None:
    """Let the organisation of ``KEY`` have many users."""
    engine = open_engine(database)
    await Registry(engine).create_org("acme", None)
    row = dict.fromkeys(("model", "operation"), "speech") | dict.fromkeys(("requests", "quantity", "amount"), 1)
    rows = [{"day": "2026-11-01", "org": "acme", "key_id": f"user-{number}", **row} for number in range(9_000)]
    async with engine.begin() as connection:
        await connection.execute(sa.insert(USAGE_DAYS), rows)
        await connection.execute(sa.update(KEYS).values(org="acme"))
    await engine.dispose()


@pytest.fixture(scope="module")
def frontend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frontend]:
    environ = prepare(tmp_path_factory.mktemp("loop"), BODY_SECONDS=2, HEADER_SECONDS=1, EXTENSIONS="rerank_dialects")
    asyncio.run(_use(environ[f"{PREFIX}DATABASE"]))
    # Attacks of the transport hold the loop of a bare port. This file measures what they may.
    with running({**environ, REPORTS: ""}, "--watch") as started:
        # Workers and caches are made at the first request of each kind.
        for name in ("32 texts of 128 kB", "5000 characters as MP3", "25 MB of line ends"):
            _send(started.port, CASES[name]())
        yield started


@pytest.fixture(scope="module")
def proxied(frontend: Frontend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a proxy in front of it."""
    program = needed(caddy(), "Caddy")
    with proxy(tmp_path_factory.mktemp("proxy"), program, [f"127.0.0.1:{frontend.port}"]) as port:
        yield port


def _send(port: int, data: bytes) -> None:
    """Send as fast as it is taken, and read until nothing comes any more."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_SECONDS) as connection,
        ThreadPoolExecutor(1) as pool,
        contextlib.suppress(OSError),
    ):
        sent = pool.submit(connection.sendall, data)
        while connection.recv(_MB):
            connection.settimeout(_QUIET_SECONDS)
        sent.result()


def _send_together(port: int, data: bytes, times: int) -> None:
    with ThreadPoolExecutor(times) as pool:
        list(pool.map(_send, [port] * times, [data] * times))


def _assert_free(frontend: Frontend, port: int, data: bytes, times: int = 1) -> None:
    """Fail if requests sent together hold the event loop; a busy machine has several tries."""
    held = []
    for _ in range(_TRIES):
        frontend.blocked_ms()
        _send_together(port, data, times)
        held.append(frontend.blocked_ms())
        if held[-1] <= _MOST_MS:
            return
    pytest.fail(f"the event loop was held for {held} ms")


@pytest.mark.parametrize("name", CASES)
def test_no_request_holds_the_event_loop(frontend: Frontend, name: str) -> None:
    _assert_free(frontend, frontend.port, CASES[name]())


# The proxy keeps a head that does not end, for ten seconds.
@pytest.mark.parametrize("name", [name for name in TRANSPORT if name != _UNENDED])
def test_no_bytes_hold_the_event_loop_behind_the_proxy(frontend: Frontend, proxied: int, name: str) -> None:
    _assert_free(frontend, proxied, TRANSPORT[name]())


@pytest.mark.parametrize("name", ["a body in chunks of a byte", "line ends before a request"])
def test_many_together_do_not_hold_the_event_loop_behind_the_proxy(frontend: Frontend, proxied: int, name: str) -> None:
    _assert_free(frontend, proxied, TRANSPORT[name](), _MANY)


@pytest.mark.parametrize("name", TRANSPORT)
def test_the_bare_port_survives_many_together(frontend: Frontend, name: str) -> None:
    process, data = psutil.Process(frontend.process.pid), TRANSPORT[name]()
    before, waits = process.memory_info().rss, list[float]()
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(_send_together, frontend.port, data, _MANY_BARE)
        while not sending.done():
            began = time.monotonic()
            with urllib.request.urlopen(f"{frontend.address}/health/live", timeout=_ANSWER_SECONDS):
                waits.append(time.monotonic() - began)
            assert process.memory_info().rss - before < _MOST_MEMORY
            time.sleep(0.05)
        sending.result()
    assert statistics.median(waits) < _PATIENCE_SECONDS, waits
