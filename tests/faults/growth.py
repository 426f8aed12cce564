"""How memory grows with what is done: ``python -m tests.faults.growth --uploads 10000 --sentences 10000``.

It starts the frontend, with a fake Triton or the whole product (``--product``), and prints for each kind of work what
all its processes together have grown by from the first twentieth to the end, and which of them by how much in each half
of that. Shared pages count once.
"""

import argparse
import asyncio
import json
import os
import random
import tempfile
import wave
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from io import BytesIO
from pathlib import Path

import aiohttp
import psutil

from frontend.config.reading import PREFIX
from scripts.local_triton.checks import free_port
from scripts.run.stack import Stack
from tests.conftest import KEY, bearer
from tests.faults.served import Served
from tests.frontends import named, prepare

_AT_ONCE = 4
_SETTINGS = {"UNPAID_SECONDS": 1_000_000, "EXTENSIONS": "realtime", "LIVE_SESSIONS": 1000}
# Silence of 500 kB, which is decoded and reaches no model.
_SILENT_SECONDS = 15.6
_TEXTS, _SENTENCE = 32, "This is a sentence about a number that nobody needs, and it may end at any of its letters."
_PATIENCE_SECONDS = 600
_TOLD_MB = 0.5
Work = Callable[[aiohttp.ClientSession], Awaitable[None]]


def _silence() -> bytes:
    file = BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(16_000)
        written.writeframes(bytes(2 * int(_SILENT_SECONDS * 16_000)))
    return file.getvalue()


_FILE = _silence()


def _text() -> str:
    """Of any length, because some memory is kept for each length."""
    return _SENTENCE[: random.randint(4, len(_SENTENCE))]


async def _answered(ask: Callable[[], AbstractAsyncContextManager[aiohttp.ClientResponse]]) -> None:
    """Ask again after a 502, which comes while a Triton gets no processor."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while True:
            async with ask() as answer:
                body = await answer.text(errors="replace")
            if answer.status == 200:
                return
            assert answer.status == 502, body
            await asyncio.sleep(float(answer.headers["Retry-After"]))


async def _upload(session: aiohttp.ClientSession) -> None:
    def ask() -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        form = aiohttp.FormData({"model": "stt-1"})
        form.add_field("file", _FILE, filename="a.wav")
        return session.post("/v1/audio/transcriptions", data=form)

    await _answered(ask)


async def _embed(session: aiohttp.ClientSession) -> None:
    body = {"model": "embed-m3", "input": [_text() for _ in range(_TEXTS)]}
    await _answered(lambda: session.post("/v1/embeddings", json=body))


async def _speak(session: aiohttp.ClientSession) -> None:
    # Kokoro, which says amy, takes ten times as long.
    (voice,) = random.choices(("ryan", "amy"), (9, 1))
    body = {"model": "tts-1", "voice": voice, "input": _text(), "response_format": "wav"}
    await _answered(lambda: session.post("/v1/audio/speech", json=body))


async def _listen(session: aiohttp.ClientSession) -> None:
    """A session with some audio, which is dropped."""
    async with session.ws_connect("/v1/realtime?intent=transcription") as socket:
        await socket.receive()
        audio = "A" * 12_800
        for _ in range(3):
            await socket.send_str(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))
        assert socket._response.connection is not None
        socket._response.connection.transport.abort()  # type: ignore[union-attr]


# The work, how much of the argument one call does, and how many run at once.
KINDS: dict[str, tuple[Work, int, int]] = {
    "uploads": (_upload, 1, _AT_ONCE),
    "embeddings": (_embed, _TEXTS, _AT_ONCE),
    "sentences": (_speak, 1, _AT_ONCE),
    "sessions": (_listen, 1, 200),
}


def memory(pid: int) -> dict[str, float]:
    """MB of a process and all below it by what they run; shared pages count once."""
    used: dict[str, float] = {}
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        name = _name(process.cmdline())
        used[name] = used.get(name, 0.0) + process.memory_full_info().pss / 1e6
    return used


def _name(command: list[str]) -> str:
    """The model of a process of Triton's Python backend, else what it runs."""
    models = [Path(each).parts[-3] for each in command if each.endswith("/1/model.py")]
    if models:
        return models[0]
    return "triton" if "--model-repository" in " ".join(command) else "frontend and callers"


async def _do(session: aiohttp.ClientSession, work: Work, count: int, at_once: int) -> None:
    left = iter(range(count))

    async def do() -> None:
        for _ in left:
            await work(session)

    await asyncio.gather(*(do() for _ in range(at_once)))
    # Sessions that were dropped end.
    await asyncio.sleep(3)


@contextmanager
def _frontend(folder: Path) -> Iterator[tuple[str, int]]:
    served = Served(prepare(folder, **_SETTINGS), folder / "log")
    asyncio.run(served.start())
    assert served.process is not None
    try:
        yield served.url, served.process.pid
    finally:
        served.process.terminate()
        served.process.wait()


@contextmanager
def _product(folder: Path) -> Iterator[tuple[str, int]]:
    stack = Stack(free_port(), {**os.environ, **prepare(folder, **_SETTINGS), **named(LOG_LEVEL="ERROR")}, work=folder)
    try:
        stack.start()
        yield stack.url, os.getpid()
    finally:
        stack.stop()


async def _run(url: str, pid: int, kind: str, count: int) -> None:
    work, each, at_once = KINDS[kind]
    calls = max(2 * at_once, count // each)
    # As many at once as later: the first time takes memory that stays.
    first = max(calls // 20, at_once)
    timeout = aiohttp.ClientTimeout(total=600)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(url, headers=bearer(KEY), timeout=timeout, connector=connector) as session:
        await _do(session, work, first, at_once)
        looks = [memory(pid)]
        for _ in range(2):
            await _do(session, work, (calls - first) // 2, at_once)
            looks.append(memory(pid))
    before, _, after = looks
    done, grown = (calls - first) // 2 * 2 * each, sum(after.values()) - sum(before.values())
    print(f"{kind}: {sum(before.values()):.0f} MB, {grown:+.1f} MB after {done} more", flush=True)
    for name in before:
        # A process may have ended.
        there = [look.get(name, 0.0) for look in looks]
        halves = there[1] - there[0], there[2] - there[1]
        if max(map(abs, halves)) > _TOLD_MB:
            print(f"  {name}: {halves[0]:+.1f}, {halves[1]:+.1f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0)
    parser.add_argument("--product", action="store_true", help="with Triton and the demo models")
    given = vars(parser.parse_args())
    for name in list(os.environ):
        if name.startswith(PREFIX):
            del os.environ[name]
    with (
        tempfile.TemporaryDirectory() as folder,
        (_product if given["product"] else _frontend)(Path(folder)) as (url, pid),
    ):
        for kind in KINDS:
            if given[kind]:
                asyncio.run(_run(url, pid, kind, given[kind]))


if __name__ == "__main__":
    main()
