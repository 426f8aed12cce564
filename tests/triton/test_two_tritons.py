"""Two Tritons behind one frontend: one dies, comes back, or freezes, under load."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest

from scripts.local_triton.server import LocalTriton
from scripts.run.state import REPOSITORY
from tests.conftest import KEY, bearer
from tests.eventually import until
from tests.faults.callers import Load
from tests.faults.served import FRONTEND, Served
from tests.frontends import prepare
from tests.triton.conftest import send

pytestmark = [pytest.mark.triton, pytest.mark.alone]

MODEL = "m3_embedder"
SECRET = "of-both-tritons"
CALLERS = 12
DEADLINE = 3.0
# In which every caller is answered a few times.
BEFORE = 0.7
# These machines are noisy: what is asked for is one second.
NOISE = 0.5


class Pair:
    """Two Tritons with the embedder, and a frontend that knows both."""

    def __init__(self, folder: Path) -> None:
        self.tritons = [LocalTriton(REPOSITORY, folder / name, secret=SECRET) for name in ("first", "second")]
        for triton in self.tritons:
            triton.start()
            triton.load([MODEL])
        addresses = ",".join(f"127.0.0.1:{triton.ports.grpc}" for triton in self.tritons)
        environ = prepare(
            folder, TRITON=addresses, TRITON_SECRET=SECRET, REQUEST_SECONDS=DEADLINE, STOP_DELAY_SECONDS=0
        )
        self.frontend = Served(environ, folder / "log", FRONTEND)
        self.frontend.spawn()

    def start_again(self, which: int) -> None:
        """At the same ports; returns when the model is ready."""
        before = self.tritons[which]
        before.stop()
        self.tritons[which] = LocalTriton(REPOSITORY, before._work, before.ports, secret=SECRET)
        self.tritons[which].start()
        self.tritons[which].load([MODEL])

    def stop(self) -> None:
        self.frontend.kill()
        for triton in self.tritons:
            # One that was frozen waits for calls that nobody has any more.
            send(triton, signal.SIGKILL)
            triton.stop()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    made = Pair(tmp_path_factory.mktemp("pair"))
    yield made
    made.stop()


@pytest.fixture
async def load(pair: Pair) -> AsyncIterator[Load]:
    await until(pair.frontend.is_whole, 30)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=bearer(KEY)) as session:
        running = Load(session, pair.frontend.url, "a cat on a mat " * 20)
        running.start(CALLERS)
        yield running
        await running.stop()


async def _inferences(triton: LocalTriton) -> int:
    address = f"http://127.0.0.1:{triton.ports.http}/v2/models/{MODEL}/stats"
    async with aiohttp.ClientSession() as session, session.get(address) as response:
        return int((await response.json())["model_stats"][0]["inference_count"])


async def test_a_triton_that_is_killed_costs_only_the_calls_it_had_and_comes_back(pair: Pair, load: Load) -> None:
    await asyncio.sleep(BEFORE)
    send(pair.tritons[0], signal.SIGKILL)
    killed = time.monotonic()
    await until(lambda: sum(answer.begun > killed + 1 for answer in load.answers) > CALLERS, 30)
    bad = [answer for answer in load.answers if answer.status != 200]
    assert {answer.status for answer in bad} <= {502}
    assert all(answer.begun < killed + NOISE and answer.ended < killed + 1 + NOISE for answer in bad)
    assert len(bad) <= CALLERS
    await asyncio.to_thread(pair.start_again, 0)
    ready = time.monotonic()
    # The frontend sees within a second that it is well; this many calls take a busy machine longer.
    while await _inferences(pair.tritons[0]) < 20:
        assert time.monotonic() < ready + 15
        await asyncio.sleep(0.05)
    assert all(answer.status == 200 for answer in load.answers if answer.begun > killed + 1)


async def test_a_triton_that_ends_costs_no_call(pair: Pair, load: Load) -> None:
    await asyncio.sleep(BEFORE)
    send(pair.tritons[0], signal.SIGTERM)
    ended = time.monotonic()
    await until(lambda: sum(answer.begun > ended + 3 for answer in load.answers) > CALLERS, 30)
    await asyncio.to_thread(pair.start_again, 0)
    assert {answer.status for answer in load.answers} == {200}


async def test_a_triton_that_freezes_is_left_out_and_every_caller_is_answered_by_its_deadline(
    pair: Pair, load: Load
) -> None:
    await asyncio.sleep(BEFORE)
    send(pair.tritons[0], signal.SIGSTOP)
    frozen = time.monotonic()
    try:
        await asyncio.sleep(DEADLINE + 2)
    finally:
        send(pair.tritons[0], signal.SIGCONT)
    assert all(answer.ended - answer.begun < DEADLINE + NOISE for answer in load.answers)
    late = [answer for answer in load.answers if answer.begun > frozen + 1.5 + NOISE]
    assert late
    assert {answer.status for answer in late} == {200}
    assert {answer.status for answer in load.answers} <= {200, 502}
