"""Hostile requests: each gets the documented status and shape, and nothing of them stays behind."""

import asyncio
from collections.abc import Iterator

import psutil
import pytest

from tests.faults import cases_audio, cases_http
from tests.frontends import Frontend, prepare, running
from tests.raw import ask, head
from tests.refusals import fault_of

CASES = {
    **cases_http.http(),
    **cases_http.json_bodies(),
    **cases_http.keys(),
    **cases_http.tokens(),
    **cases_audio.forms(),
    **cases_audio.files(),
}
ODD = {**cases_http.odd(), **cases_audio.odd()}


@pytest.fixture(scope="module")
def frontend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frontend]:
    own = {"BODY_SECONDS": 2, "AUDIO_WORKERS": 1, "MAX_AUDIO_SECONDS": 600, "UNPAID_SECONDS": 1000}
    with running(prepare(tmp_path_factory.mktemp("hostile"), **own)) as started:
        yield started


def test_there_are_150_cases_at_least() -> None:
    assert len(CASES) >= 150


@pytest.mark.parametrize("name", CASES)
async def test_a_hostile_request_gets_its_status_and_shape(frontend: Frontend, name: str) -> None:
    data, status = CASES[name]
    answer = await ask(frontend.port, data)
    assert answer.status == status, answer.body
    assert fault_of(answer) == ""


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_request_is_answered(frontend: Frontend, name: str) -> None:
    answer = await ask(frontend.port, ODD[name])
    assert answer.status == 200, answer.body


def _processes(frontend: Frontend) -> list[psutil.Process]:
    main = psutil.Process(frontend.process.pid)
    return [main, *main.children(recursive=True)]


def _memory(frontend: Frontend) -> int:
    return sum(process.memory_info().rss for process in _processes(frontend))


def _open_files(frontend: Frontend) -> int:
    """Open files but the database's: its pool keeps a few connections, as many as were once needed together."""
    process = psutil.Process(frontend.process.pid)
    return process.num_fds() - sum("quartet.sqlite3" in file.path for file in process.open_files())


async def _send_all(frontend: Frontend) -> None:
    # Requests that end by a deadline are sent together, so that the round does not take minutes.
    slow = [data for data, status in CASES.values() if status == 408]
    await asyncio.gather(*(ask(frontend.port, data) for data in slow))
    for data, status in CASES.values():
        if status != 408:
            await ask(frontend.port, data)


async def _settled(frontend: Frontend) -> int:
    """Open files, once refused connections have been closed and the number stays."""
    before, files = -1, _open_files(frontend)
    while files != before:
        await asyncio.sleep(0.5)
        before, files = files, _open_files(frontend)
    return files


async def test_hostile_requests_leave_no_memory_processes_or_open_files(frontend: Frontend) -> None:
    # The first round fills what is filled once: pools of memory, caches, workers. All cases were sent before it.
    await _send_all(frontend)
    files = await _settled(frontend)
    memory, processes = _memory(frontend), len(_processes(frontend))
    await _send_all(frontend)
    assert await _settled(frontend) <= files
    assert len(_processes(frontend)) == processes
    assert _memory(frontend) - memory < 30_000_000


async def test_a_good_request_is_answered_after_hostile_ones(frontend: Frontend) -> None:
    assert (await ask(frontend.port, head("GET", "/v1/models"))).status == 200
    assert (await ask(frontend.port, cases_audio.upload(cases_audio.speech("wav")))).status == 200
