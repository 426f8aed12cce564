"""Calls to Redis do not lose cancellations, and the list of metrics is complete."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress

import pytest
from prometheus_client import REGISTRY

from frontend.extensions.metrics import GROUP
from frontend.observe.metrics import GROUPS
from frontend.observe.table import LABELS
from frontend.sharing.calls import redis_call


async def _lose_it() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(60)


async def _fail_for_it() -> None:
    await _lose_it()
    raise TimeoutError


async def _cancelled(work: Coroutine[None, None, None]) -> bool:
    """Cancel the work soon after its start; return whether its task ends as cancelled."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    return task.cancelled()


@pytest.mark.parametrize("call", [_lose_it, _fail_for_it])
async def test_a_cancellation_that_a_call_swallows_is_raised(call: Callable[[], Awaitable[None]]) -> None:
    async def work() -> None:
        with suppress(TimeoutError), redis_call("locks"):
            await call()

    assert await _cancelled(work())


async def test_a_task_that_was_cancelled_before_can_call_redis() -> None:
    calls = []

    async def clean_up() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            with redis_call("locks"):
                await asyncio.sleep(0)
            calls.append("released")

    await _cancelled(clean_up())
    assert calls == ["released"]


async def test_a_timeout_around_a_call_that_swallows_cancellations_is_raised() -> None:
    async def work() -> None:
        async with asyncio.timeout(0.01):
            with redis_call("locks"):
                await _lose_it()

    with pytest.raises(TimeoutError):
        await work()


_ROWS = [row for group in (*GROUPS, GROUP) for row in group.rows]


def test_the_explained_labels_are_the_used_ones() -> None:
    assert {label for row in _ROWS for label in row.labels} == LABELS.keys()


def test_names_begin_with_quartet_and_end_by_the_conventions_of_prometheus() -> None:
    assert all(row.name.startswith("quartet_") for row in _ROWS)
    assert [row.name for row in _ROWS if (row.type == "counter") != row.name.endswith("_total")] == []
    assert [row.name for row in _ROWS if row.unit in ("seconds", "bytes") and row.unit not in row.name] == []


def test_every_metric_is_listed() -> None:
    listed = {row.name.removesuffix("_total") for row in _ROWS}
    assert {metric.name for metric in REGISTRY.collect() if metric.name.startswith("quartet")} == listed
