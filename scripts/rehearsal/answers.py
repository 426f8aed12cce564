"""The first answers of a running product: one of each operation, looked at."""

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import aiohttp

from client.recordings import SAMPLE_RATE, read_g722, recordings
from client.verify.checks import check
from client.verify.facts import load
from client.verify.questions import Questions
from client.verify.rows import Row
from client.verify.sound import Sound, read_wav, write_wav
from frontend.catalogue.models import SPEECH, TRANSCRIPTIONS
from scripts.rehearsal.watch import RehearsalError

_SENTENCE = "Good morning Anna, can you buy some bread today?"
_WIDTH = 1024
_SECONDS = 120.0
_LEAST_SOUND_SECONDS = 0.5


def ask(url: str, key: str) -> Mapping[str, float]:
    """Seconds of each operation's answer; ``RehearsalError`` where one is not as it should be."""
    return asyncio.run(_ask(url, key))


def hold_to_people(url: str, key: str) -> None:
    """``RehearsalError`` with the first fact about recordings of people, or a voice, that does not hold."""

    async def held() -> list[Row]:
        async with Questions(f"{url}/v1", key) as api:
            facts = replace(load("demo"), recordings=[])
            return await check(api, facts, "", [TRANSCRIPTIONS, SPEECH])

    if wrong := [row for row in asyncio.run(held()) if not row.ok]:
        raise RehearsalError(f"{wrong[0].fact}: expected {wrong[0].expected}, got {wrong[0].got}")


async def _ask(url: str, key: str) -> Mapping[str, float]:
    timeout = aiohttp.ClientTimeout(_SECONDS)
    seconds = {}
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {key}"}, timeout=timeout) as session:
        for name, (path, request, check) in _CALLS.items():
            began = time.monotonic()
            async with session.post(path, **request()) as response:
                body = await response.read()
                if response.status != 200:
                    raise RehearsalError(f"{name}: {response.status}, {body[:200]!r}")
                answer: Any = await response.json() if response.content_type == "application/json" else body
            seconds[name] = time.monotonic() - began
            if not check(answer):
                raise RehearsalError(f"{name}: an answer that cannot be right, {body[:200]!r}")
    return seconds


def _form() -> dict[str, Any]:
    """A person's speech."""
    form = aiohttp.FormData()
    spoken = write_wav(Sound(read_g722(recordings("en")[0].path), SAMPLE_RATE))
    form.add_field("file", spoken, filename="hello.wav", content_type="audio/wav")
    return {"data": form}


def _is_vectors(answer: Any) -> bool:
    vectors = [entry["embedding"] for entry in answer["data"]]
    return len(vectors) == 2 and all(
        len(each) == _WIDTH and math.isclose(math.hypot(*each), 1, abs_tol=1e-3) for each in vectors
    )


def _is_ranking(answer: Any) -> bool:
    scores = [entry["relevance_score"] for entry in answer["results"]]
    return len(scores) == 2 and scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)


def _is_sound(answer: Any) -> bool:
    return read_wav(answer).seconds > _LEAST_SOUND_SECONDS


_CALLS: Mapping[str, Any] = {
    "embeddings": ("/v1/embeddings", lambda: {"json": {"input": [_SENTENCE, "Grüezi mitenand"]}}, _is_vectors),
    "rerank": (
        "/v1/rerank",
        lambda: {"json": {"query": _SENTENCE, "documents": ["Bread is bought today.", "The router is reset."]}},
        _is_ranking,
    ),
    "speech": ("/v1/audio/speech", lambda: {"json": {"input": _SENTENCE, "voice": "amy"}}, _is_sound),
    "transcription": ("/v1/audio/transcriptions", _form, lambda answer: bool(answer["text"])),
}
