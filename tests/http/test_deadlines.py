"""How long a request has: from the end of its body, more for long audio, and nothing is begun that would be late."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from functools import partial

import numpy as np
import pytest

from frontend.config.settings import Settings
from tests.conftest import Client, running
from tests.fakes import FakeTriton
from tests.speech import encode, say, transcribe

_SPEECH = say("Good morning everybody, this is a test.")
# One window of 30 s, and several.
SHORT, LONG = (encode(np.concatenate([_SPEECH] * times), "wav") for times in (2, 48))


@pytest.mark.settings(request_seconds=1.0)
async def test_the_time_that_a_body_takes_to_arrive_does_not_count(client: Client) -> None:
    async def slowly() -> AsyncIterator[bytes]:
        for piece in (b'{"input": "hel', b'lo"', b"}"):
            yield piece
            await asyncio.sleep(0.6)

    assert (await client.post("/v1/embeddings", data=slowly())).status == 200


@pytest.mark.parametrize(("for_a_second", "status"), [(0.0, 502), (1.0, 200)])
async def test_a_request_has_more_time_for_more_audio(
    settings: Settings, triton: FakeTriton, for_a_second: float, status: int
) -> None:
    # Two windows at once take longer than a second for all of them.
    triton.wait = partial(asyncio.sleep, 0.8)
    brief = dataclasses.replace(settings, request_seconds=1.0, audio_second_seconds=for_a_second)
    async with running(brief, triton) as client:
        assert (await transcribe(client, LONG)).status == status


@pytest.mark.settings(request_seconds=11.0, audio_second_seconds=0.0)
async def test_work_that_would_end_after_the_deadline_is_refused_before_it_begins(
    client: Client, triton: FakeTriton
) -> None:
    triton.wait = partial(asyncio.sleep, 3.0)
    assert (await transcribe(client, SHORT)).status == 200
    refused = await transcribe(client, LONG)
    assert refused.status == 502
    assert "would take about" in (await refused.json())["error"]["message"]
    assert len(triton.calls) == 1
