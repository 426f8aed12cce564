"""Whether restarts lose requests: ``python -m lab.probes.restarts``.

Two frontends of two workers each over a Triton with the demo's models, behind haproxy (Debian's package), and 50
callers of all operations, half of whom keep their connections. While they call, each frontend in turn is renewed worker
by worker (SIGHUP), and stopped (SIGTERM) and started again. No request may be lost. Then a request of 40 s must be
answered while its frontend stops, and a killed worker may fail only its own requests.
"""

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from frontend.catalogue.models import Served as Catalogue
from scripts.local_triton.checks import free_port
from scripts.local_triton.server import LocalTriton
from scripts.run import fit
from tests.conftest import KEY, ROOT, bearer
from tests.fake_workers import SECONDS
from tests.faults.callers import Callers
from tests.faults.served import FRONTEND, Served
from tests.faults.test_restarts import of_a_killed_worker, through_a_drain
from tests.frontends import prepare
from tests.redis import RedisServer

_PROXY = """\
defaults
    mode http
    retries 0
    timeout connect 5s
    timeout check 5s
    timeout client 120s
    timeout server 300s
listen quartet
    bind 127.0.0.1:{port}
    balance roundrobin
    option httpchk GET /health/ready
    http-check expect status 200
    default-server check inter 1s fall 2 rise 1
"""
_CALLERS = 50


@contextmanager
def proxy(folder: Path, frontends: list[Served]) -> Iterator[str]:
    """Run haproxy in front of the frontends, with a readiness check every second; yields its address."""
    port = free_port()
    lines = [f"    server s{each.port} 127.0.0.1:{each.port} check port {each.admin_port}" for each in frontends]
    (folder / "haproxy.cfg").write_text("\n".join([_PROXY.format(port=port), *lines, ""]), encoding="utf-8")
    program = shutil.which("haproxy") or "/usr/sbin/haproxy"
    with subprocess.Popen([program, "-f", str(folder / "haproxy.cfg")], stderr=subprocess.DEVNULL) as running:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()


def _spoken(url: str) -> bytes:
    body = b'{"input": "Good morning Anna.", "voice": "amy"}'
    request = urllib.request.Request(f"{url}/v1/audio/speech", body, bearer(KEY))
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


async def _restart(frontend: Served, *, whole: bool) -> None:
    if not whole:
        await frontend.renew()
        return
    code = await frontend.stop()
    assert code == 0, f"exit code {code}"
    await frontend.start()
    # The proxy checks every second, and the other frontend restarts next.
    await asyncio.sleep(3)


async def _while_called(url: str, frontends: list[Served], requests: int, restarts: int) -> Callers:
    callers = Callers(url, KEY, _CALLERS, await asyncio.to_thread(_spoken, url))
    calling = asyncio.create_task(callers.run())
    began = time.monotonic()

    async def answered(count: float) -> None:
        while callers.answered.total() + len(callers.lost) < count:  # noqa: ASYNC110 - between answers
            await asyncio.sleep(0.1)

    for turn in range(2 * restarts):
        await answered(requests * (turn + 0.5) / (2 * restarts))
        # A rolling restart and a full one of the first frontend, then of the second, and so on.
        await _restart(frontends[turn // 2 % len(frontends)], whole=bool(turn % 2))
        seconds, number = time.monotonic() - began, callers.answered.total()
        kind = "stopped and started" if turn % 2 else "renewed"
        print(f"{seconds:5.0f} s: {kind}; {number} answered, {len(callers.lost)} lost", *callers.lost[-3:], flush=True)
    await answered(requests)
    callers.stop()
    await calling
    return callers


async def behind_a_proxy(folder: Path, requests: int, restarts: int) -> bool:
    """Whether no request was lost."""
    redis = RedisServer(folder)
    triton = LocalTriton(ROOT / "model_repository", folder / "triton", config_name=fit.CONFIG_NAME)
    with ExitStack() as closing:
        redis.start()
        closing.callback(redis.kill)
        triton.start()
        closing.callback(triton.stop, at_once=True)
        triton.load(Catalogue.of().triton_models)
        address = f"127.0.0.1:{triton.ports.grpc}"
        environ = await asyncio.to_thread(
            prepare, folder, TRITON=address, TRITON_SECRET=triton.secret, REDIS=redis.url, WORKERS=2
        )
        frontends = [Served(environ, folder / f"log{number}", FRONTEND) for number in range(2)]
        for frontend in frontends:
            closing.callback(frontend.kill)
            await frontend.start()
        url = closing.enter_context(proxy(folder, frontends))
        await asyncio.sleep(2)
        callers = await _while_called(url, frontends, requests, restarts)
        for frontend in frontends:
            await frontend.stop()
    counts = ", ".join(f"{count} {name}" for name, count in sorted(callers.answered.items()))
    print(f"{callers.answered.total()} answered ({counts}); {len(callers.lost)} lost", *callers.lost[:20], sep="\n")
    return not callers.lost and callers.answered.total() >= requests


async def _alone(folder: Path) -> bool:
    with ExitStack() as closing:
        redis = RedisServer(folder)
        redis.start()
        closing.callback(redis.kill)
        environ = await asyncio.to_thread(prepare, folder, REDIS=redis.url, WORKERS=2)
        frontend = Served({**environ, SECONDS: "40"}, folder / "log")
        closing.callback(frontend.kill)
        await frontend.start()
        killed = await of_a_killed_worker(frontend, 20)
        return await through_a_drain(frontend, 40) and killed


def main() -> int:
    parser = argparse.ArgumentParser(description="Restart frontends under load.")
    parser.add_argument("--requests", type=int, default=30_000)
    parser.add_argument("--restarts", type=int, default=6, help="of each kind")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        passed = [asyncio.run(behind_a_proxy(Path(one), arguments.requests, arguments.restarts))]
        passed.append(asyncio.run(_alone(Path(other))))
    print("all checks passed" if all(passed) else "a check failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
