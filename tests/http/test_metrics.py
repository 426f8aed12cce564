import asyncio
import re
import time

import pytest

from frontend.catalogue.version import VERSION
from frontend.pages.metrics import MetricsPage
from tests.conftest import Client


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


async def test_paths_and_methods_that_do_not_exist_make_no_labels(client: Client) -> None:
    await client.request("BREW", "/v1/coffee-4711")
    text = await (await client.get("/metrics")).text()
    assert "coffee" not in text
    assert "BREW" not in text


async def test_many_who_ask_share_a_rendering_that_began_after_they_asked() -> None:
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


async def test_a_rendering_that_fails_leaves_the_next_one_to_work() -> None:
    answers: list[bytes] = []
    page = MetricsPage(lambda: answers.pop())
    with pytest.raises(IndexError):
        await page.get()
    answers.append(b"all")
    assert await page.get() == b"all"
