import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from frontend.catalogue.version import VERSION
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.errors import ApiError, BadGateway, BrokenModel, Internal, Late, Unreached
from frontend.operations.status.metrics import MetricsPage
from tests.charges import COST, ORG_KEY, TEXT, charges, other_key, speak
from tests.conftest import Client, bearer, running
from tests.eventually import until
from tests.fakes import FakeTriton, add_key, add_org
from tests.http.calls import APART, EMBED
from tests.samples import Change, value
from tests.speech import encode, say, transcribe

pytestmark = pytest.mark.asyncio(loop_scope="module")

RERANK = "/v1/rerank"


async def test_a_blocked_event_loop_is_measured(client: Client) -> None:
    def late() -> float:
        """Delays of more than 0.2 s."""
        name = "quartet_loop_delay_seconds"
        return value(f"{name}_count") - value(f"{name}_bucket", le="0.2")

    before = late()
    time.sleep(0.5)  # noqa: ASYNC251
    await until(lambda: late() > before)


async def test_the_page_has_the_labels_of_a_request_the_version_and_no_time_of_a_first_label(client: Client) -> None:
    await client.post(EMBED, json={"input": "a"})
    await client.request("BREW", "/v1/coffee-4711")
    text = await (await client.get("/metrics")).text()
    labels = 'method="POST",operation="embeddings",route="/v1/embeddings",status="200",tier="free"'
    assert f"quartet_requests_total{{{labels}}}" in text
    assert f'quartet_build_info{{version="{VERSION}"}} 1.0' in text
    assert [name for name in ("_created", "coffee", "BREW") if name in text] == []


async def test_metrics_come_in_the_text_format_that_every_prometheus_reads(client: Client) -> None:
    response = await client.get("/metrics", headers={"Accept": "application/openmetrics-text"})
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


async def test_scrapes_share_a_rendering_that_began_after_they_came() -> None:
    began = 0

    def render() -> bytes:
        nonlocal began
        began += 1
        time.sleep(0.05)
        return b"%d" % began

    page = MetricsPage(render)
    first = asyncio.create_task(page.get())
    await asyncio.sleep(0.02)
    answers = await asyncio.gather(first, *(page.get() for _ in range(100)))
    assert answers == [b"1", *[b"2"] * 100]


async def test_the_next_rendering_waits_for_nine_times_as_long_as_the_last_one_took() -> None:
    started: list[float] = []

    def render() -> bytes:
        started.append(time.monotonic())
        time.sleep(0.02)
        return b"all"

    page = MetricsPage(render)
    for _ in range(2):
        await page.get()
    assert started[1] - started[0] > 0.19


async def test_a_scrape_that_is_cut_off_cuts_off_no_other() -> None:
    page = MetricsPage(lambda: b"all")
    cut_off, other = (asyncio.create_task(page.get()) for _ in range(2))
    await asyncio.sleep(0)
    cut_off.cancel()
    assert await asyncio.wait_for(other, 10) == b"all"


async def test_a_rendering_succeeds_after_one_that_failed() -> None:
    answers: list[bytes] = []
    page = MetricsPage(answers.pop)
    with pytest.raises(IndexError):
        await page.get()
    answers.append(b"all")
    assert await page.get() == b"all"


@APART
async def test_requests_are_counted_by_operation_status_and_tier(client: Client, settings: Settings) -> None:
    company = bearer(await other_key(settings, tier="company"))
    counted = {
        (tier, status): Change("quartet_requests_total", operation="embeddings", tier=tier, status=status)
        for tier in ("free", "company", "none")
        for status in ("200", "400", "401")
    }
    sent: Counter[tuple[str, str]] = Counter()
    for headers, tier in (({}, "free"), (company, "company"), (bearer("no"), "none")):
        for body in ({"input": "a"}, {"input": "b"}, {"input": 1}):
            answer = await client.post(EMBED, json=body, headers=headers)
            sent[tier, str(answer.status)] += 1
    assert {which: change.by for which, change in counted.items() if change.by} == sent


async def test_requests_in_flight_are_those_that_have_not_ended(client: Client, triton: FakeTriton) -> None:
    going = asyncio.Event()
    triton.wait = going.wait
    requests = [asyncio.create_task(client.post(EMBED, json={"input": "a"})) for _ in range(3)]
    await until(lambda: len(triton.calls) == 3)
    assert value("quartet_requests_in_flight", operation="embeddings") == 3
    going.set()
    await asyncio.gather(*requests)
    await until(lambda: value("quartet_requests_in_flight", operation="embeddings") == 0)


async def test_bytes_of_bodies_and_answers_are_counted_as_sent(client: Client) -> None:
    came = Change("quartet_body_bytes_sum", operation="embeddings")
    went = Change("quartet_answer_bytes_sum", operation="embeddings")
    body = b'{"input": "' + b"word " * 500 + b'"}'
    answer = await client.post(EMBED, data=body)
    size = len(await answer.read())
    head = sum(len(name) + len(text) + 4 for name, text in answer.raw_headers)
    assert came.by == len(body)
    assert size + head < went.by < size + head + 100


@APART
@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Unreached("no"), "unreached"),
        (Late("no"), "late"),
        (BrokenModel("no"), "broken"),
        (Internal("no"), "refused"),
        (BadGateway("no"), "failed"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
async def test_a_call_that_fails_is_counted_by_its_class(
    client: Client, triton: FakeTriton, failure: ApiError, error: str
) -> None:
    counted = Change("quartet_backend_errors_total", model="m3_embedder", error=error)
    answered = Change("quartet_call_seconds_count", model="m3_embedder")
    triton.failure = failure
    assert (await client.post(EMBED, json={"input": "a"})).status >= 500
    assert (counted.by, answered.by) == (1, 0)


def _limited(client: Client) -> Awaitable[Any]:
    return client.post(RERANK, json={}, headers=bearer(ORG_KEY))


@APART
@pytest.mark.parametrize(
    ("operation", "reason", "send"),
    [
        ("other", "auth", lambda client: client.get("/v1/models", headers=bearer("wrong"))),
        ("speech", "size", lambda client: speak(client, "x" * 5001)),
        ("speech", "balance", lambda client: speak(client, key=ORG_KEY)),
        ("embeddings", "queue", lambda client: client.post(EMBED, json={"input": "a"})),
        ("rerank", "limit", _limited),
        ("embeddings", "", lambda client: client.post(EMBED, json={"input": 1})),
    ],
    ids=["a wrong key", "too much", "an empty wallet", "no Triton", "too often", "a mistake, which is no refusal"],
)
async def test_refusals_are_counted_by_reason(
    settings: Settings, triton: FakeTriton, operation: str, reason: str, send: Callable[[Client], Awaitable[Any]]
) -> None:
    engine = open_engine(settings.database)
    await add_org(engine, "acme", COST - 1)
    await add_key(engine, ORG_KEY, org="acme", limits={"rerank": 1})
    await engine.dispose()
    triton.up = reason != "queue"
    async with running(settings, triton) as client:
        if reason == "limit":
            await send(client)
        reasons = ("limit", "balance", "auth", "queue", "size")
        counted = {each: Change("quartet_refusals_total", operation=operation, reason=each) for each in reasons}
        await send(client)
    assert [each for each, change in counted.items() for _ in range(int(change.by))] == [reason] * bool(reason)


@APART
async def test_metrics_count_what_the_ledger_charges(client: Client, settings: Settings) -> None:
    money = {name: Change("quartet_charged_micro_chf_total", operation=name) for name in ("speech", "transcriptions")}
    characters = Change("quartet_characters_total", model="tts-1")
    seconds = Change("quartet_audio_seconds_total", model="stt-1")
    tokens = Change("quartet_tokens_total", model="rerank-v2-m3")
    for name in ("first", "second", "second"):
        await speak(client, **{"X-Request-Id": name})
    await transcribe(client, encode(say("one two three"), "wav"))
    await client.post(RERANK, json={"query": "one", "documents": ["two", "three"]})
    rows = await charges(client, settings)
    of = {name: [row for row in rows if row["operation"] == name] for name in ("speech", "transcriptions", "rerank")}
    for name, change in money.items():
        assert change.by == sum(row["amount"] for row in of[name]) > 0
    # Three were said, and one of them was paid for by the one before.
    assert (characters.by, len(of["speech"])) == (3 * len(TEXT), 2)
    assert seconds.by == pytest.approx(of["transcriptions"][0]["quantity"] / 1000)
    assert tokens.by == of["rerank"][0]["quantity"]
