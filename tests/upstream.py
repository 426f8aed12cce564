"""A small OpenAI-compatible chat server that echoes, streams, refuses and breaks off on demand."""

import asyncio
import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from frontend.catalogue.models import PRICES
from frontend.config.settings import Settings

KEY = "upstream-key"
USAGE = {"prompt_tokens": 11, "completion_tokens": 22, "total_tokens": 33}
PATH = "/v1/chat/completions"


def chat(said: str, **more: Any) -> dict[str, Any]:
    """A chat request with the message ``said``, which controls the answer."""
    return {"model": "m", "messages": [{"role": "user", "content": said}], **more}


def _refused(said: str) -> dict[str, Any]:
    return {"error": {"message": f"refused with {said}", "type": "upstream", "param": "messages", "code": "why"}}


class Upstream:
    """``received`` has (path, headers, JSON) of every request. The text of the last message controls the answer."""

    def __init__(self) -> None:
        self.received: list[tuple[str, Mapping[str, str], dict[str, Any]]] = []
        self.cancelled = asyncio.Event()
        # What it lists as its models, and after how many seconds.
        self.models: Any = {"object": "list", "data": [{"id": "a/chat-model", "created": 7, "owned_by": "us", "x": 1}]}
        self.slow = 0.0
        # What it reports of an answer.
        self.usage: Any = USAGE
        # What it streams instead of words.
        self.repeats = b""
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/responses", self._response)
        app.router.add_get("/v1/models", self._models)
        self.server = TestServer(app)

    @property
    def address(self) -> str:
        return str(self.server.make_url("/v1"))

    def serves(self, settings: Settings) -> Settings:
        """Settings of a frontend with this upstream, at one micro-CHF per token."""
        return dataclasses.replace(
            settings,
            chat_upstream=self.address,
            chat_upstream_key=KEY,
            chat_concurrency=4,
            write_seconds=1.0,
            prices={**PRICES, "chat": dataclasses.replace(PRICES["chat"], micro_chf=1_000_000)},
        )

    async def _models(self, request: web.Request) -> web.Response:
        self.received.append((request.path, request.headers, {}))
        await asyncio.sleep(self.slow)
        return web.json_response(self.models)

    async def _response(self, request: web.Request) -> web.StreamResponse:
        body = await self._note(request)
        answer = {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"], "status": "completed"}
        text = {"type": "output_text", "text": f"you said {body['input']}", "annotations": []}
        message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
        settings = {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
        usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
        return web.json_response({**answer, **settings, "output": [message], "usage": usage})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await self._note(request)
        said = body["messages"][-1]["content"]
        if said.isdecimal():
            headers = {"Retry-After": "7", "Location": "/v1/responses"}
            return web.json_response(_refused(said), status=int(said), headers=headers)
        if said.startswith("pieces "):
            return await self._refuse_in_pieces(request, int(said.split()[1]))
        if said == "nonsense":
            return web.Response(text="<html>", status=400)
        if said == "picky" and body.get("stream_options") is not None:
            return web.json_response({"error": {"message": "unknown field stream_options"}}, status=400)
        if said == "page":
            return web.Response(text="<html>", content_type="text/html")
        if body.get("stream") and said != "whole":
            return await self._stream(request, said, body.get("stream_options") or {})
        message = {"role": "assistant", "content": f"you said {said}"}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        answer = {"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": choices}
        if said != "silent":
            answer["usage"] = {"total_tokens": 9_000} if said == "dear" else self.usage
        response = web.json_response(answer)
        response.set_cookie("tenant", said.split()[0])
        return response

    async def _refuse_in_pieces(self, request: web.Request, size: int) -> web.StreamResponse:
        response = web.StreamResponse(status=400)
        await response.prepare(request)
        body = json.dumps({"padding": "x" * size, **_refused("pieces")}).encode()
        for place in (0, 1):
            await response.write(body[place * len(body) // 2 : (place + 1) * len(body) // 2])
            await asyncio.sleep(0.05)
        return response

    async def _note(self, request: web.Request) -> dict[str, Any]:
        body: dict[str, Any] = await request.json()
        self.received.append((request.path, request.headers, body))
        return body

    async def _stream(self, request: web.Request, said: str, options: Mapping[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            for place in range(0, len(self.repeats), 100_000):
                await response.write(self.repeats[place : place + 100_000])
            for word in ["you", "said", *said.split()]:
                choices = [{"index": 0, "delta": {"content": f"{word} "}, "finish_reason": None}]
                chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
                await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                if word == "break":
                    assert request.transport is not None
                    request.transport.abort()
                    return response
                await asyncio.sleep(30 if word == "wait" else 0.05)
            while said == "endless":
                await response.write(b"data: " + b"x" * 60_000 + b"\n\n")
        except (asyncio.CancelledError, ConnectionError):
            self.cancelled.set()
            raise
        if options.get("include_usage"):
            last = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
            usage = self.usage
            if said == "no total":
                usage = {name: count for name, count in USAGE.items() if name != "total_tokens"}
            sent = {name: value for name, value in last.items() if said != "no choices" or name != "choices"}
            await response.write(b"data: " + json.dumps({**sent, "usage": usage}).encode())
            if said == "no end":
                return response
            await response.write(b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response
