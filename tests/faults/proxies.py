"""The proxies of ``docker/proxy`` before a frontend: ``python -m tests.faults.proxies``, with Debian's nginx and Caddy.

Their own files run, with names, addresses and certificates put in. What passes: 25 MB, an answer that takes longer than
a proxy's usual minute, a stream event by event, the frontend's own refusals. What does not: metrics and administration.
A caller who hangs up frees what he held, and where the frontend is gone the proxy says so in the API's own shape.
"""

import asyncio
import json
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from frontend.app import create_app
from frontend.config.reading import PREFIX
from frontend.config.settings import Settings
from frontend.operations.transcription.protocol import LARGEST_FILE
from scripts.local_triton.checks import free_port
from tests.certificates import Authority
from tests.conftest import KEY, ROOT, ProductServer
from tests.fakes import FakeTriton
from tests.frontends import prepare
from tests.upstream import Upstream, chat

NAME = "quartet.example.com"
_LONG = 70.0
_FOLDER = ROOT / "docker" / "proxy"


def _nginx(folder: Path, frontend: int, port: int, authority: Authority) -> list[str]:
    own = authority.certificate(NAME)
    text = (_FOLDER / "nginx.conf").read_text(encoding="utf-8")
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{frontend}").replace("listen 443", f"listen 127.0.0.1:{port}")
    text = text.replace("/etc/ssl/quartet/fullchain.pem", str(own.path))
    text = text.replace("/etc/ssl/quartet/privkey.pem", str(own.key_path))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    whole = f"pid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{places}{text}}}\n"
    (folder / "nginx.conf").write_text(whole, encoding="utf-8")
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    return [program, "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]


def _caddy(folder: Path, frontend: int, port: int, authority: Authority) -> list[str]:
    own = authority.certificate(NAME)
    text = (_FOLDER / "Caddyfile").read_text(encoding="utf-8").replace("127.0.0.1:8080", f"127.0.0.1:{frontend}")
    site = f"https://{NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls {own.path} {own.key_path}"
    text = re.sub(rf"^{re.escape(NAME)} {{", site, text, flags=re.MULTILINE)
    (folder / "Caddyfile").write_text(f"{{\n\tadmin off\n\tauto_https off\n}}\n{text}", encoding="utf-8")
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


class _Here(AbstractResolver):
    """Finds every name on this machine."""

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_INET) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        return


@contextmanager
def _running(command: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            yield
        finally:
            process.terminate()


async def _passes(session: aiohttp.ClientSession, triton: FakeTriton) -> None:
    async with session.get("/v1/models") as answer:
        assert answer.status == 200, answer.status
    print("  a list of models: 200")
    for size in (LARGEST_FILE, LARGEST_FILE + 1):
        form = aiohttp.FormData()
        form.add_field("file", b"x" * size, filename="a.wav")
        async with session.post("/v1/audio/transcriptions", data=form) as answer:
            body = await answer.json()
            # The content is no audio: that it was read to its end shows by what is said of it.
            assert (answer.status, body["error"]["type"]) == (
                (415, "unsupported_media_type") if size == LARGEST_FILE else (413, "request_too_large")
            ), body
            print(f"  {size} bytes of file: {answer.status}, {body['error']['message']}")
    triton.wait = partial(asyncio.sleep, _LONG)
    began = time.monotonic()
    async with session.post("/v1/embeddings", json={"input": "a"}) as answer:
        assert answer.status == 200, answer.status
    print(f"  an answer after {time.monotonic() - began:.0f} s: 200")
    triton.wait = partial(asyncio.sleep, 0)


async def _streams(session: aiohttp.ClientSession) -> None:
    began, times = time.monotonic(), []
    async with session.post("/v1/chat/completions", json=chat("a b c d e f g h", stream=True)) as answer:
        async for line in answer.content:
            if line.startswith(b"data: {"):
                times.append(time.monotonic() - began)
    assert times[0] < times[-1] - 0.3, times
    print(f"  a stream: first event after {times[0]:.2f} s, last after {times[-1]:.2f} s")


async def _hangs_up(session: aiohttp.ClientSession, upstream: Upstream) -> None:
    async with session.post("/v1/chat/completions", json=chat("wait", stream=True)) as answer:
        await answer.content.readline()
    await asyncio.wait_for(upstream.cancelled.wait(), 10)
    upstream.cancelled.clear()
    print("  a caller hangs up: what worked for him is cancelled")


async def _private(session: aiohttp.ClientSession) -> None:
    for path in ("/metrics", "/health/ready", "/admin/v1/keys", "/keys", "/keys/keys.js"):
        async with session.get(path) as answer:
            assert answer.status == 404, (path, answer.status)
    print("  metrics, readiness and administration: 404")


async def _gone(session: aiohttp.ClientSession) -> None:
    async with session.get("/v1/models") as answer:
        body = json.loads(await answer.text())
        assert (answer.status, body["error"]["type"]) == (502, "bad_gateway"), body
        assert answer.headers["Retry-After"] == "5"
    print(f"  the frontend gone: 502, {body['error']['message']}")


async def _listens(session: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                async with session.get("/health/live") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)


async def _through(kind: str, folder: Path, settings: Settings) -> None:
    triton, upstream, authority = FakeTriton(), Upstream(), Authority(folder)
    await upstream.server.start_server()
    settings = upstream.serves(settings)
    server = ProductServer(create_app(settings, connect=lambda address: triton), settings)
    await server.start_server()
    assert server.port is not None
    port = free_port()
    command = {"nginx": _nginx, "caddy": _caddy}[kind](folder, server.port, port, authority)
    trusted = ssl.create_default_context(cafile=str(authority.own.path))
    connector = aiohttp.TCPConnector(ssl=trusted, resolver=_Here())
    headers = {"Authorization": f"Bearer {KEY}"}
    with _running(command, folder / "log"):
        async with aiohttp.ClientSession(f"https://{NAME}:{port}", headers=headers, connector=connector) as session:
            await _listens(session)
            print(f"{kind}:")
            await _passes(session, triton)
            await _streams(session)
            await _hangs_up(session, upstream)
            await _private(session)
            await server.close()
            await _gone(session)
    await upstream.server.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("nginx", "caddy"):
            own = Path(folder) / kind
            own.mkdir()
            environ = {**prepare(own), f"{PREFIX}ADMIN_KEY": "a" * 32}
            asyncio.run(_through(kind, own, Settings.from_env(environ)))


if __name__ == "__main__":
    main()
