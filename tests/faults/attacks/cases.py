"""The attacks: each is one caller, or few, who take as much as they can; ``scale`` of 1 is their full size."""

import asyncio
import contextlib
import io
import json
import random
import re
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cache
from typing import Any

import aiohttp
import numpy as np
import soundfile
import tritonclient.grpc.aio as grpc_client

from tests.faults.attacks.scene import Scene, while_asking
from tests.faults.cases_audio import FILE, part
from tests.faults.cases_http import EMBED, RERANK, SPEECH, TRANSCRIBE
from tests.raw import head, post
from tests.speech import SAMPLE_RATE, encode, say

_MB = 1024 * 1024
# A block of equal samples takes a dozen bytes.
_FLAC_BLOCK = 4096
_TWO_HOURS = 7199
_FORM = "Content-Type: multipart/form-data; boundary=x"
# The longest text that the embedder takes, in its demo tokens and more.
_LONG_TEXT = "word " * 8200


Attack = Callable[[Scene], Coroutine[Any, Any, None]]


@cache
def wav() -> bytes:
    return encode(say("Good morning."), "wav")


@cache
def crackling(seconds: int) -> bytes:
    """A small FLAC of crackling, 363 kB for two hours: nothing to find, and much to look through."""
    blocks = np.random.default_rng(1).integers(-9000, 9000, seconds * SAMPLE_RATE // _FLAC_BLOCK).astype(np.int16)
    file = io.BytesIO()
    soundfile.write(file, np.repeat(blocks, _FLAC_BLOCK), SAMPLE_RATE, format="FLAC")
    return file.getvalue()


def upload(content: bytes) -> aiohttp.FormData:
    form = aiohttp.FormData(default_to_multipart=True)
    form.add_field("file", content, filename="a.wav")
    return form


async def _send(scene: Scene, data: bytes) -> None:
    """Send a request and read its answer; who is cancelled hangs up as a process does that ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", scene.port)
    try:
        writer.write(data)
        headers = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", headers)
        await reader.readexactly(int(length[1]) if length else 0)
    except (OSError, asyncio.IncompleteReadError):
        # The service may have enough of it.
        return
    finally:
        writer.transport.abort()


async def _drop(calls: Iterable[Coroutine[Any, Any, None]], after: float) -> None:
    """Begin them all, and hang up after so many seconds."""
    tasks = [asyncio.create_task(call) for call in calls]
    await asyncio.sleep(after)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _json(path: str, key: str, **body: object) -> bytes:
    return post(path, json.dumps(body).encode(), key=key)


def _upload(key: str, content: bytes) -> bytes:
    return post(TRANSCRIBE, part(FILE, content) + b"--x--\r\n", _FORM, key=key)


async def dropped_embeddings(scene: Scene) -> None:
    """118 embeddings of one key, hung up on within a second, four times."""
    data = _json(EMBED, scene.free, input=["a cat on a mat " * 40] * 8)
    for _ in range(4):
        await _drop((_send(scene, data) for _ in range(scene.count(118))), 0.8)
        await asyncio.sleep(2)


async def malformed_tensors(scene: Scene) -> None:
    """One malformed request among sixteen good ones, sent straight to Triton, four times."""

    def tensors(missing: int) -> list[grpc_client.InferInput]:
        ids, lengths = np.arange(1, 21 - missing, dtype=np.int32)[None], np.array([[20]], np.int32)
        made = []
        for name, values in (("input_ids", ids), ("lengths", lengths)):
            made.append(grpc_client.InferInput(name, values.shape, "INT32"))
            made[-1].set_data_from_numpy(values)
        return made

    async with grpc_client.InferenceServerClient(scene.grpc) as client:
        for _ in range(scene.count(4)):
            calls = (client.infer("m3_embedder", tensors(7 if place == 8 else 0)) for place in range(17))
            answers = await asyncio.gather(*calls, return_exceptions=True)
            assert any(isinstance(answer, Exception) for answer in answers)
            await asyncio.sleep(1)
            await client.infer("m3_embedder", tensors(0))


def _at_once(data: Callable[[str, float], bytes], times: int = 8) -> Attack:
    """The same request over so many connections."""

    async def attack(scene: Scene) -> None:
        sent = data(scene.free, scene.scale)
        await asyncio.gather(*(_send(scene, sent) for _ in range(times)))

    return attack


async def long_texts(scene: Scene) -> None:
    """Three requests of 32 texts of 8192 tokens, given up after five seconds."""

    data = _json(EMBED, scene.free, input=[_LONG_TEXT] * 32)
    attack = _drop((_send(scene, data) for _ in range(3)), 5 * scene.scale)
    await while_asking(scene, "one word", EMBED, lambda: {"json": {"input": "word"}}, attack)


async def tiny_files(scene: Scene) -> None:
    """Five files of some hundred kilobytes that decode to two hours each."""

    async def attack() -> None:
        await asyncio.gather(*(_send(scene, data) for _ in range(5)))

    data = _upload(scene.free, crackling(scene.count(_TWO_HOURS)))
    await while_asking(scene, "a second of audio", TRANSCRIBE, lambda: {"data": upload(wav())}, attack())


def _unread(count: int, **asked: str) -> Attack:
    """Connections that ask for 5,000 characters of speech and never read; the service has hung up on them all."""

    async def attack(scene: Scene) -> None:
        data = _json(SPEECH, scene.free, input="Hello you. " * 454, voice="amy", **asked)
        opened = []
        for _ in range(scene.count(count)):
            connection = await asyncio.open_connection("127.0.0.1", scene.port, limit=1)
            connection[1].write(data)
            opened.append(connection)
        # Speech itself takes a while on a small machine; then nothing is read for as long as the deadline of delivery.
        await asyncio.sleep(75)
        for _, writer in opened:
            writer.transport.abort()

    return attack


async def unread_streams(scene: Scene) -> None:
    """500 who ask for a stream and never read it, while a company's caller has a sentence spoken."""
    body = {"json": {"input": "Good morning, Anna.", "voice": "amy"}}
    await while_asking(scene, "a sentence", SPEECH, lambda: body, _unread(500, stream_format="audio")(scene))


async def endless_bodies(scene: Scene) -> None:
    """300 bodies to ``/health/live`` that never end, without a key; the service has hung up on them all."""
    headers = b"POST /health/live HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def drip() -> float:
        reader, writer = await asyncio.open_connection("127.0.0.1", scene.port)
        began = time.monotonic()
        writer.write(headers)
        with contextlib.suppress(OSError):
            while time.monotonic() - began < 30 and not writer.transport.is_closing():
                writer.write(b"1\r\nx\r\n")
                await asyncio.sleep(0.2)
                if reader.at_eof():
                    break
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(65536), 0.01)
        writer.transport.abort()
        return time.monotonic() - began

    lasted = await asyncio.gather(*(drip() for _ in range(scene.count(300))))
    assert max(lasted) < 15, f"a body went on for {max(lasted):.0f} s"


def _at_random(times: int, data: Callable[[str, random.Random], bytes]) -> Attack:
    """Requests that are hung up on at random moments, sixteen at a time."""

    async def attack(scene: Scene) -> None:
        chance, left = random.Random(1), iter(range(scene.count(times)))

        async def caller() -> None:
            for _ in left:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(_send(scene, data(scene.free, chance)), chance.uniform(0, 1.2))

        await asyncio.gather(*(caller() for _ in range(16)))

    return attack


def _escapes(key: str, scale: float) -> bytes:
    return post(EMBED, b'{"input":"' + b'\\"' * int(2_000_000 * scale), key=key)


def _lists(key: str, scale: float) -> bytes:
    return post(EMBED, b'{"input":[' + b"[]," * int(1_390_000 * scale) + b"[]]}", key=key)


def _preamble(key: str, scale: float) -> bytes:
    return post(TRANSCRIBE, b"\n" * int(8_000_000 * scale), _FORM, key=key)


def _dots(key: str, scale: float) -> bytes:
    return _json(SPEECH, key, input="." * 4990 + "! a b", voice="amy")


def _chunks(key: str, scale: float) -> bytes:
    return head("POST", EMBED, "Transfer-Encoding: chunked", key=key) + b"1\r\nx\r\n" * int(1_000_000 * scale)


ATTACKS: Mapping[str, Attack] = {
    "118 embeddings dropped, four times": dropped_embeddings,
    "a malformed tensor among good ones": malformed_tensors,
    "4 MB of escapes": _at_once(_escapes),
    "8 MB of line ends before a form": _at_once(_preamble),
    "4 MB of empty lists": _at_once(_lists),
    "5000 dots to speak": _at_once(_dots),
    "100 bodies in chunks of a byte": _at_once(_chunks, 100),
    "three times 32 long texts, given up": long_texts,
    "five files of two hours": tiny_files,
    "24 answers that nobody reads": _unread(24),
    "500 streams of speech that nobody reads": unread_streams,
    "300 endless bodies without a key": endless_bodies,
    "200 uploads dropped": _at_random(
        200, lambda key, chance: _upload(key, chance.choice([wav(), crackling(_TWO_HOURS), bytes(20 * _MB)]))
    ),
    "500 speeches dropped": _at_random(
        500, lambda key, chance: _json(SPEECH, key, input="Hello you. " * 40, voice="amy")
    ),
    "500 embeddings dropped": _at_random(
        500, lambda key, chance: _json(EMBED, key, input=["a cat on a mat " * 200] * 8)
    ),
    "500 rankings dropped": _at_random(
        500, lambda key, chance: _json(RERANK, key, query="a cat", documents=["on a mat " * 200] * 8)
    ),
}
