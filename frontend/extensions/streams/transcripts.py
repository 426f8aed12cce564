"""A transcript as events, sent while the audio is read."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, MEMORY_RESERVATION, TRANSCRIPTION
from frontend.audio.prepare import SpokenWindow
from frontend.billing.bill import Reserves
from frontend.dispatch.context import RequestContext
from frontend.extensions.streams.order import run_in_order
from frontend.http.memory import MemoryReservation
from frontend.http.rendering import EVENTS, render_event
from frontend.operations.transcription.assembly import Assembly
from frontend.operations.transcription.handler import Answer
from frontend.operations.transcription.pipeline import TranscriptionPipeline
from frontend.operations.transcription.protocol import TranscriptionRequest
from frontend.tritons.triton import Arrays

# The most memory that the words of a window take.
_TRANSCRIPT_BYTES = 64 * 1024


@asynccontextmanager
async def answer(request: web.Request, parsed: TranscriptionRequest) -> AsyncIterator[Answer]:
    reserve, memory = request[BILLING].reserve, request[MEMORY_RESERVATION]
    streaming = _stream(request.app[TRANSCRIPTION], parsed, request[CONTEXT], reserve, memory)
    async with streaming as (first, others):
        yield EVENTS, _events(first, others)


@asynccontextmanager
async def _stream(
    pipeline: TranscriptionPipeline,
    request: TranscriptionRequest,
    context: RequestContext,
    reserve: Reserves,
    memory: MemoryReservation,
) -> AsyncIterator[tuple[str, AsyncIterator[str]]]:
    """The first part of the text, which may be empty, and the others.

    The windows of the file do not wait for whoever reads the text. After the last one, their audio is freed.
    """
    async with AsyncExitStack() as running:
        with pipeline.unbilled.work(context.key) as timer:
            decoded = await pipeline.decode(request, context, memory, timer)
            windows, bill = decoded.prepared.windows, None

            def ended() -> None:
                memory.closing.close()
                memory.resize(_TRANSCRIPT_BYTES * len(windows))

            if windows:
                bill = await running.enter_async_context(reserve(request.model, decoded.milliseconds))
            calls = run_in_order(pipeline.calls(decoded, context), lambda: pipeline.at_once(decoded.model), ended)
            parts = _parts(Assembly(request, pipeline.reader), windows, await running.enter_async_context(calls))
            first = await anext(parts, "")
            if bill is not None and not first:
                pipeline.waive(bill, decoded, timer)
            elif windows:
                timer.paid()
        yield first, parts


async def _parts(
    assembly: Assembly, windows: Sequence[SpokenWindow], answers: AsyncIterator[Arrays]
) -> AsyncIterator[str]:
    """What each window adds to the text, if anything."""
    for window in windows:
        if part := assembly.add(window, await anext(answers)):
            yield part


def _delta(part: str) -> bytes:
    return render_event({"type": "transcript.text.delta", "delta": part})


async def _events(first: str, others: AsyncIterator[str]) -> AsyncGenerator[bytes, None]:
    """OpenAI's events: one for each part of the text, and one with the whole text at the end."""
    text = first
    if first:
        yield _delta(first)
    async for part in others:
        text += part
        yield _delta(part)
    yield render_event({"type": "transcript.text.done", "text": text})
