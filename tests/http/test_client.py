"""The programs for clients over the API: ``quartet verify`` and bulk work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from client.bulk.job import Job
from client.bulk.pace import Pace
from client.bulk.progress import Tally
from client.bulk.work import Worker
from client.verify import people
from client.verify import record as recording
from client.verify.checks import check
from client.verify.facts import Facts, Ranking, Speech, Text, Weighed
from client.verify.questions import Questions, RefusedError
from client.verify.record import record
from frontend.app_keys import MEMORY_BUDGET
from frontend.config.settings import Settings
from frontend.errors import ApiError, BadGateway, RateLimited
from scripts.local_triton.checks import free_port
from tests.charges import other_key
from tests.conftest import KEY, Client, bearer, running
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.speech import encode, say

QUESTIONS = Facts(
    "",
    texts=[Text("Good morning", [0, 2]), Text("Guten Abend")],
    # It weighs no tokens.
    weighed=[Weighed("Good morning", [5], [0.1])],
    rankings=[Ranking("a", ["b", "a much longer document"], best=1)],
    speech=Speech(sentences={"en": ["Good morning | Anna."]}),
)


@pytest.fixture
def pauses() -> list[float]:
    """Seconds that were to be waited; nobody waits."""
    return []


def _url(client: Client) -> str:
    return f"http://127.0.0.1:{client.server.port}/v1"


@pytest.fixture(autouse=True)
def one_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first recording of a person is sent: a record asks for each several times."""
    first = people.clips()[:1]
    for module in (people, recording):
        monkeypatch.setattr(module, "clips", lambda: first)


@pytest.fixture
async def api(client: Client, pauses: list[float]) -> AsyncIterator[Questions]:
    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async with Questions(_url(client), KEY, pause) as entered:
        yield entered


async def test_models_are_listed(api: Questions) -> None:
    assert "embed-m3" in await api.models()


async def test_texts_are_embedded(api: Questions) -> None:
    vectors, tokens = await api.embed(["a", "b"])
    assert (vectors.shape, tokens) == ((2, 1024), 6)
    assert np.flatnonzero(vectors[0]).tolist() == [3]


async def test_scores_come_back_in_the_order_of_the_documents(api: Questions) -> None:
    scores, tokens = await api.rerank("a", ["a much longer document", "b"])
    assert scores == [pytest.approx(1 / 9, abs=1e-6), pytest.approx(1 / 6, abs=1e-6)]
    assert tokens == 15


async def test_speech_is_heard_with_its_words(api: Questions) -> None:
    heard = await api.hear("stt-1", encode(say("Hello there"), "wav"))
    assert (heard.text, heard.language, heard.logprob) == ("hello there", "en", -0.25)
    assert [word for word, _, _ in heard.words] == [" hello", " there"]


@pytest.mark.parametrize(
    ("ask", "missing"),
    [
        (lambda api: api.speak("a", "nobody"), True),
        (lambda api: api.hear("stt-9", encode(say("a"), "wav")), True),
        (lambda api: api.weigh(["a"]), True),
        (lambda api: api.speak("", "amy"), False),
    ],
    ids=["voice", "model", "weights", "text"],
)
async def test_a_refusal_says_whether_a_model_a_voice_or_weights_are_missing(
    api: Questions, ask: Callable[[Questions], Awaitable[object]], missing: bool
) -> None:
    with pytest.raises(RefusedError, match="400: ") as refused:
        await ask(api)
    assert refused.value.missing == missing


async def test_an_operation_that_is_not_served_gets_no_verdict(settings: Settings, triton: FakeTriton) -> None:
    alone, asked = replace(settings, models="embed-m3"), Facts("", rankings=[Ranking("a", ["b"])])
    async with running(alone, triton) as client, Questions(_url(client), KEY) as api:
        rows = await check(api, asked, "", ["rerank"])
    assert [(row.fact, row.ok) for row in rows] == [("rerank", None)]


def _fail(triton: FakeTriton, *errors: ApiError) -> None:
    """Answer calls with these errors, one after another, and then well."""
    left: list[ApiError | None] = [None, *reversed(errors)]

    async def wait() -> None:
        triton.failure = left.pop()

    triton.wait = wait


_AWAY, _LATER = BadGateway("away"), RateLimited("later")


@pytest.mark.parametrize(
    ("errors", "count"),
    [([_AWAY], 1), ([_LATER] * 5, 5), ([*[_LATER] * 5, *[_AWAY] * 3], 8)],
    ids=["models are away", "too many questions", "which are no attempts of a server without its models"],
)
async def test_a_question_is_repeated_until_it_is_answered(
    api: Questions, triton: FakeTriton, pauses: list[float], errors: list[ApiError], count: int
) -> None:
    _fail(triton, *errors)
    assert (await api.embed(["a"]))[1] == 3
    assert len(pauses) == count


async def test_a_server_that_stays_without_its_models_fails(api: Questions, triton: FakeTriton) -> None:
    triton.failure = _AWAY
    with pytest.raises(RefusedError, match="502: "):
        await api.embed(["a"])


async def test_no_pause_is_longer_than_a_minute(api: Questions, triton: FakeTriton, pauses: list[float]) -> None:
    _fail(triton, RateLimited("later", headers={"Retry-After": "3600"}))
    await api.embed(["a"])
    assert pauses == [60.0]


@pytest.mark.parametrize("key", ["wrong", ""])
async def test_a_wrong_key_is_an_error_with_the_address(client: Client, key: str) -> None:
    async with Questions(_url(client), key) as api:
        with pytest.raises(match="http://127.0.0.1"):
            await api.models()


async def test_an_address_without_a_server_is_an_error() -> None:
    async with Questions(f"http://127.0.0.1:{free_port()}/v1", KEY) as api:
        with pytest.raises(match="Cannot connect"):
            await api.models()


async def test_answers_are_recorded_without_facts_that_do_not_hold(api: Questions) -> None:
    recorded = await record(api, QUESTIONS, "fp32")
    (answers,) = recorded.recordings
    assert answers.tokens == [4, 5]
    assert len(answers.heard["stt-1"]) == 1
    assert answers.spoken.keys() == {"amy", "ryan"}
    # Nothing that was asked of its numbers and words is true of the fake.
    assert ([each.ids for each in recorded.texts], recorded.rankings[0].best) == ([[], []], -1)
    assert (recorded.speech.word_error, recorded.speech.voice_word_error) == (None, None)


@pytest.mark.parametrize(("texts", "limit"), [(["a", "b"], 1e-9), (["a", "a much longer text"], 5e-6)])
async def test_vectors_that_differ_little_get_a_closer_limit(api: Questions, texts: list[str], limit: float) -> None:
    """The fake embeds a text as its number of tokens."""
    recorded = await record(api, replace(QUESTIONS, texts=[Text(text) for text in texts]), "fp32")
    assert recorded.recordings[0].limits["vector"] == pytest.approx(limit)


async def test_a_precision_is_recorded_beside_others_and_replaces_itself(api: Questions) -> None:
    first = await record(api, QUESTIONS, "fp32")
    both = await record(api, await record(api, first, "int8"), "int8")
    assert [each.precision for each in both.recordings] == ["fp32", "int8"]


async def test_a_server_that_changes_its_answers_is_not_recorded(api: Questions, triton: FakeTriton) -> None:
    rng = np.random.default_rng(0)
    triton.spoil = lambda arrays: {
        name: rng.normal(size=array.shape).astype(np.float32) if name == "embedding" else array
        for name, array in arrays.items()
    }
    with pytest.raises(RefusedError, match="another answer to the same question"):
        await record(api, QUESTIONS, "fp32")


async def _run(client: Client, operation: str, source: Path, output: Path, options: Mapping[str, str]) -> Tally:
    job = Job(operation, source, output, options, str(client.make_url("/v1")), KEY, at_once=4, patience=10)
    items, tally = job.source(), Tally()
    outcomes = job.outcomes(items.count)
    await Worker(job, outcomes, tally, Pace(4), "token").run(items.items())
    outcomes.close()
    return tally


async def test_texts_become_speech_and_recordings_text(client: Client, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(3):
        (texts / f"{number}.txt").write_text("Good morning.")
    options = {"voice": "amy", "response_format": "mp3"}
    spoken = await _run(client, "speak", texts, tmp_path / "audio", options)
    assert (spoken.done, spoken.work) == (3, 39.0)
    heard = await _run(client, "transcribe", tmp_path / "audio", tmp_path / "heard.parquet", {"timestamps": "word"})
    assert (heard.done, heard.failed) == (3, 0)
    assert pq.read_table(tmp_path / "heard.parquet")["id"].to_pylist() == ["0.mp3", "1.mp3", "2.mp3"]


@pytest.mark.settings(held_bytes=1_400_000, queue_hold_seconds=0.01)
async def test_several_bulk_keys_hold_no_more_memory_than_one_key_may(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    bulk, released = [await other_key(settings, tier="bulk") for _ in range(3)], asyncio.Event()
    body = {"input": ["word " * 2_000] * 5}

    async def ask(key: str) -> int:
        async with client.post("/v1/embeddings", json=body, headers=bearer(key)) as answer:
            return answer.status

    triton.wait = released.wait
    waiting = [asyncio.create_task(ask(key)) for key in bulk[:2]]
    await until(lambda: client.app[MEMORY_BUDGET]._total > 600_000)
    async with asyncio.timeout(10):
        assert await ask(bulk[2]) == 502
    waiting.append(asyncio.create_task(ask(KEY)))
    await until(lambda: client.app[MEMORY_BUDGET]._total > 900_000)
    released.set()
    assert await asyncio.gather(*waiting) == [200, 200, 200]
