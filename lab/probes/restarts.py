"""Whether restarts lose requests: ``python -m lab.probes.restarts``.

Two frontends of two workers each with a fake Triton, behind Caddy with the product's configuration, and 50 callers of
all operations, half of whom keep their connections. While they call, the frontends are stopped (SIGTERM) and started
again in turn. No request may be lost. Then a request of 40 s must be answered while its frontend stops, and a killed
worker may fail only its own requests.
"""

import argparse
import asyncio
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from tests.conftest import KEY, bearer
from tests.fake_workers import SECONDS
from tests.faults.callers import Callers
from tests.faults.served import Served
from tests.faults.test_restarts import of_a_killed_worker, through_a_drain
from tests.frontends import prepare
from tests.proxy import caddy, proxy
from tests.redis import RedisServer

_CALLERS = 50


def _spoken(url: str) -> bytes:
    body = b'{"input": "Good morning Anna.", "voice": "amy"}'
    request = urllib.request.Request(f"{url}/v1/audio/speech", body, bearer(KEY))
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


async def _restart(frontend: Served) -> None:
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

    for turn in range(restarts):
        await answered(requests * (turn + 0.5) / restarts)
        await _restart(frontends[turn % len(frontends)])
        seconds, number = time.monotonic() - began, callers.answered.total()
        print(f"{seconds:5.0f} s: {number} answered, {len(callers.lost)} lost", *callers.lost[-3:], flush=True)
    await answered(requests)
    callers.stop()
    await calling
    return callers


async def behind_a_proxy(folder: Path, requests: int, restarts: int) -> bool:
    """Whether no request was lost."""
    redis = RedisServer(folder)
    with ExitStack() as closing:
        redis.start()
        closing.callback(redis.kill)
        environ = await asyncio.to_thread(prepare, folder, REDIS=redis.url, WORKERS=2)
        first = Served(environ, folder / "log1")
        # The proxy asks all of them at the same admin port.
        frontends = [first, Served(environ, folder / "log2", host="127.0.0.2", ports=first.ports)]
        for frontend in frontends:
            closing.callback(frontend.kill)
            await frontend.start()
        program = caddy()
        assert program is not None, "there is no Caddy"
        addresses = [f"{each.host}:{each.port}" for each in frontends]
        port = closing.enter_context(proxy(folder, program, addresses, first.admin_port))
        url = f"http://127.0.0.1:{port}"
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
    parser.add_argument("--restarts", type=int, default=6, help="of the two together")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        passed = [asyncio.run(behind_a_proxy(Path(one), arguments.requests, arguments.restarts))]
        passed.append(asyncio.run(_alone(Path(other))))
    print("all checks passed" if all(passed) else "a check failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
