import asyncio
import re
import time
from collections.abc import Iterable

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from frontend.catalogue.version import VERSION
from frontend.observe import exposition
from frontend.observe.exposition import Format
from frontend.pages.metrics import MetricsPage
from tests.conftest import Client

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


async def _delays(client: Client) -> tuple[int, int]:
    """(timers measured, those at most 50 ms late)."""
    text = await (await client.get("/metrics")).text()
    count = re.search(r"quartet_loop_delay_seconds_count ([\d.]+)", text)
    prompt = re.search(r'quartet_loop_delay_seconds_bucket\{le="0.05"\} ([\d.]+)', text)
    assert count is not None
    assert prompt is not None
    return int(float(count[1])), int(float(prompt[1]))


async def test_a_loop_that_is_held_up_is_seen(client: Client) -> None:
    count, prompt = await _delays(client)
    time.sleep(0.5)  # noqa: ASYNC251
    await asyncio.sleep(0.3)
    later_count, later_prompt = await _delays(client)
    assert later_count > count
    assert (later_count - count) > (later_prompt - prompt)


async def test_requests_are_counted_by_route_and_status(client: Client) -> None:
    await client.post("/v1/embeddings", json={"input": "a"})
    text = await (await client.get("/metrics")).text()
    labels = 'method="POST",operation="embeddings",route="/v1/embeddings",status="200",tier="free"'
    assert f"quartet_requests_total{{{labels}}}" in text
    assert f'quartet_build_info{{version="{VERSION}"}} 1.0' in text
    assert "quartet_limiter_degraded" in text


async def test_nothing_tells_when_a_label_was_first_seen(client: Client) -> None:
    assert "_created" not in await (await client.get("/metrics")).text()


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (None, TEXT),
        ("", TEXT),
        ("*/*", TEXT),
        ("text/html,application/xml;q=0.9,*/*;q=0.8", TEXT),
        ("text/plain", TEXT),
        ("text/plain;version=1.0.0", TEXT),
        ("application/json", TEXT),
        ("application/openmetrics-text", OPENMETRICS),
        ("Application/OpenMetrics-Text; Version=1.0.0; charset=utf-8", OPENMETRICS),
        ("application/openmetrics-text;version=2.0.0", TEXT),
        ("application/openmetrics-text;q=0.2,text/plain;q=0.4", TEXT),
        ("application/openmetrics-text;q=0,text/plain;q=0", TEXT),
        ("application/openmetrics-text;q=high", TEXT),
        (
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
            "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,*/*;q=0.1",
            OPENMETRICS,
        ),
    ],
)
async def test_they_come_in_the_format_that_is_asked_for(client: Client, accept: str | None, kind: str) -> None:
    response = await client.get("/metrics", headers={} if accept is None else {"Accept": accept})
    assert response.headers["Content-Type"] == kind
    assert ((await response.text()).endswith("# EOF\n")) == (kind == OPENMETRICS)


async def test_both_formats_have_the_same_samples(client: Client) -> None:
    openmetrics = await client.get("/metrics", headers={"Accept": "application/openmetrics-text"})
    text = await client.get("/metrics")
    openmetrics_names = _names(openmetrics_families(await openmetrics.text()))  # type: ignore[no-untyped-call]
    assert _names(text_families(await text.text())) == openmetrics_names


def _names(families: Iterable[Metric]) -> set[str]:
    return {sample.name for family in families for sample in family.samples}


async def test_paths_and_methods_that_do_not_exist_make_no_labels(client: Client) -> None:
    await client.request("BREW", "/v1/coffee-4711")
    text = await (await client.get("/metrics")).text()
    assert "coffee" not in text
    assert "BREW" not in text


async def test_many_who_ask_share_a_rendering_that_began_after_they_asked() -> None:
    began = 0

    def render(form: Format) -> bytes:
        nonlocal began
        began += 1
        time.sleep(0.05)
        return b"%d" % began

    page = MetricsPage(render)
    first = asyncio.create_task(page.get(exposition.TEXT))
    await asyncio.sleep(0.02)
    answers = await asyncio.gather(first, *(page.get(exposition.TEXT) for _ in range(100)))
    assert answers == [b"1", *[b"2"] * 100]


async def test_a_rendering_that_fails_leaves_the_next_one_to_work() -> None:
    answers: list[bytes] = []
    page = MetricsPage(lambda form: answers.pop())
    with pytest.raises(IndexError):
        await page.get(exposition.TEXT)
    answers.append(b"all")
    assert await page.get(exposition.TEXT) == b"all"


async def test_who_asks_for_another_format_gets_that() -> None:
    page = MetricsPage(lambda form: form.content_type.encode())
    text, openmetrics = await asyncio.gather(page.get(exposition.TEXT), page.get(exposition.OPENMETRICS))
    assert (text.decode(), openmetrics.decode()) == (TEXT, OPENMETRICS)
