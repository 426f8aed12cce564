"""OpenAI's official Python client, unmodified: its error classes, and its retries by our headers."""

import asyncio
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace

import openai
import pytest

from frontend.access import storages
from frontend.config.settings import Settings
from frontend.errors import BadGateway
from tests.charges import ORG_KEY, Books, other_key
from tests.conftest import KEY, Client
from tests.fakes import FakeTriton
from tests.http.calls import logged
from tests.speech import encode, say

WAV = encode(say("Good morning everybody, this is a test."), "wav")


@pytest.fixture
async def caller(client: Client) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=str(client.make_url("/v1")), api_key=KEY) as connected:
        yield connected


async def test_the_synchronous_client_does_the_same(client: Client) -> None:
    def work() -> tuple[str, bytes, int]:
        with openai.OpenAI(base_url=str(client.make_url("/v1")), api_key=KEY) as caller:
            heard = caller.audio.transcriptions.create(model="stt-1", file=("a.wav", WAV))
            assert caller.models.retrieve("embed-m3").id in [model.id for model in caller.models.list()]
            speech = caller.audio.speech.create(model="tts-1", voice="amy", input="Hello.")
            vectors = caller.embeddings.create(model="embed-m3", input=["a", "b"])
        return heard.text, speech.content[:4], len(vectors.data)

    assert await asyncio.to_thread(work) == ("hello there", b"RIFF", 2)


async def test_speech_can_be_streamed_to_a_file(caller: openai.AsyncOpenAI) -> None:
    async with caller.audio.speech.with_streaming_response.create(
        model="tts-1", voice="amy", input="Hello."
    ) as streamed:
        assert sum([len(chunk) async for chunk in streamed.iter_bytes()]) == int(streamed.headers["content-length"])


async def test_an_error_has_the_class_of_its_status(caller: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.AuthenticationError):
        await caller.with_options(api_key="wrong").models.list()
    with pytest.raises(openai.NotFoundError):
        await caller.models.retrieve("other")


async def test_an_error_has_type_param_and_request_id(caller: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await caller.embeddings.create(model="other", input="a")
    error = refused.value
    assert (error.type, error.param, error.code) == ("invalid_request_error", "model", "model_not_found")
    assert error.request_id


@pytest.mark.parametrize(
    ("file", "status"), [(bytes(26 * 1024 * 1024), 413), (b"%PDF-1.4\n", 415)], ids=["too large", "a PDF"]
)
async def test_a_refused_file_is_an_error_of_its_status(caller: openai.AsyncOpenAI, file: bytes, status: int) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        await caller.audio.transcriptions.create(model="stt-1", file=("a.wav", file))
    assert refused.value.status_code == status


async def test_a_502_is_retried_after_the_time_of_the_header(caller: openai.AsyncOpenAI, triton: FakeTriton) -> None:
    triton.failure = BadGateway("away")
    asyncio.get_running_loop().call_later(0.5, setattr, triton, "failure", None)
    started = time.monotonic()
    await caller.embeddings.create(model="embed-m3", input="a")
    assert len(triton.calls) == 2
    assert time.monotonic() - started >= 1


async def test_a_429_is_retried_after_the_time_of_the_header(
    settings: Settings, caller: openai.AsyncOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await other_key(settings, limits={"embeddings": 1})
    # A second before the minute turns, so that the test need not wait longer.
    begun = time.monotonic()
    monkeypatch.setattr(storages, "time", SimpleNamespace(time=lambda: 59.2 + time.monotonic() - begun))
    limited = caller.with_options(api_key=key)
    for _ in range(2):
        await limited.embeddings.create(model="embed-m3", input="a")
    assert time.monotonic() - begun >= 0.8


async def test_a_429_without_retries_is_a_rate_limit_error(settings: Settings, caller: openai.AsyncOpenAI) -> None:
    key = await other_key(settings, limits={"embeddings": 1})
    limited = caller.with_options(api_key=key, max_retries=0)
    await limited.embeddings.create(model="embed-m3", input="a")
    with pytest.raises(openai.RateLimitError) as refused:
        await limited.embeddings.create(model="embed-m3", input="a")
    assert refused.value.type == "rate_limit_exceeded"


async def test_an_empty_wallet_is_told_at_once_and_not_tried_again(
    caller: openai.AsyncOpenAI, books: Books, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await books.top_up("acme", 1)
    started = time.monotonic()
    with pytest.raises(openai.RateLimitError) as refused:
        await caller.with_options(api_key=ORG_KEY).audio.speech.create(model="tts-1", voice="amy", input="Hello.")
    assert time.monotonic() - started < 1
    assert (refused.value.type, refused.value.code) == ("insufficient_quota", "insufficient_quota")
    assert "Retry-After" not in refused.value.response.headers
    assert [line["status"] for line in logged(caplog)] == [429]
