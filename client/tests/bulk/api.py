"""The API as bulk work meets it: in a thread of its own, it answers by itself, refuses on demand, and notes all."""

import asyncio
import base64
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from aiohttp import web

KEY = "qk_test"


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Return when ``condition`` holds; ``TimeoutError`` if that takes too long."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - it may be true of another thread
            await asyncio.sleep(0.01)


@dataclass(frozen=True)
class Refusal:
    """In the contract's form."""

    status: int
    message: str
    type: str = ""
    param: str | None = None
    retry_after: int | None = None

    def response(self) -> web.Response:
        error = {"message": self.message, "type": self.type, "param": self.param, "code": None}
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return web.json_response({"error": error}, status=self.status, headers=headers)


@dataclass
class Asked:
    """A request: its path, name, and JSON or the size and text of its form's parts."""

    path: str
    name: str
    body: Mapping[str, Any]


@dataclass
class Api:
    """``refuse`` may answer a request before it is served, ``hold`` is waited for; a text is embedded as its length."""

    refuse: Callable[[Asked], Refusal | None] = lambda asked: None
    hold: Callable[[Asked], bool] = lambda asked: False
    asked: list[Asked] = field(default_factory=list)
    running: int = 0
    most: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[str]:
        """All that were sent to be embedded."""
        return [text for asked in self.asked for text in asked.body["input"]]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] != f"Bearer {KEY}":
            return Refusal(401, "the key is not known").response()
        if request.content_type == "application/json":
            body = await request.json()
        else:
            body = dict((await request.post()).items())
        asked = Asked(request.path, request.headers["X-Request-Id"], body)
        self.asked.append(asked)
        if (refusal := self.refuse(asked)) is not None:
            return refusal.response()
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0)
            await until(lambda: not self.hold(asked))
            return self._answer(asked)
        finally:
            self.running -= 1

    @staticmethod
    def _answer(asked: Asked) -> web.StreamResponse:
        if asked.path.endswith("/embeddings"):
            vectors = [np.full(4, len(text), "<f4").tobytes() for text in asked.body["input"]]
            data = [{"embedding": base64.b64encode(vector).decode()} for vector in vectors]
            return web.json_response({"data": data, "usage": {"total_tokens": len(vectors)}})
        if asked.path.endswith("/speech"):
            return web.Response(body=b"RIFF" + str(asked.body["input"]).encode())
        text = asked.body["file"].file.read().decode()
        segment = {"id": 0, "start": 0.0, "end": 2.0, "text": text, "avg_logprob": -0.1, "no_speech_prob": 0.0}
        answer = {"text": text, "language": "en", "duration": 2.0, "segments": [segment], "words": []}
        return web.json_response(answer)


@contextmanager
def serving(port: int = 0) -> Iterator[Api]:
    """One that answers within the block; again at the same port, it is back."""
    api, loop, ready = Api(), asyncio.new_event_loop(), threading.Event()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/{rest:.*}", api.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)

    async def start() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
        api.port = runner.addresses[0][1]

    def run() -> None:
        loop.run_until_complete(start())
        # A loop that is told to stop before it runs for ever would do so.
        loop.call_soon(ready.set)
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        # Those whose callers have just gone end in a turn more.
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(10)
    try:
        yield api
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
