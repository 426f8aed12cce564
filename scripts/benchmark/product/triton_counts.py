"""Triton's own counts between two moments: requests, executions, time in its queue."""

import asyncio
from typing import Any

import aiohttp

_SETTLE_SECONDS = 0.2
_SETTLE_TRIES = 20

Counts = dict[str, dict[str, float]]


async def settled(address: str) -> Counts:
    """Requests, executions, and nanoseconds in the queue and in the model, by model, when they no longer change.

    Empty without the HTTP address of a Triton.
    """
    before: Counts = {}
    for _ in range(_SETTLE_TRIES if address else 0):
        # Triton counts shortly after it answers.
        now = await _read(address)
        if now == before:
            break
        before = now
        await asyncio.sleep(_SETTLE_SECONDS)
    return before


async def _read(address: str) -> Counts:
    async with aiohttp.ClientSession() as session, session.get(f"{address}/v2/models/stats") as response:
        stats: dict[str, Any] = await response.json()
    return {model["name"]: _counts(model) for model in stats["model_stats"]}


def _counts(model: dict[str, Any]) -> dict[str, float]:
    times = model["inference_stats"]
    return {
        "requests": float(times["success"].get("count", 0)),
        "executions": float(model.get("execution_count", 0)),
        "queue_ns": float(times["queue"].get("ns", 0)),
        "compute_ns": float(times["compute_infer"].get("ns", 0)),
    }


def between(before: Counts, after: Counts) -> Counts:
    """For each called model: requests, executions, mean batch, mean milliseconds in queue and model."""
    found: Counts = {}
    for model, last in after.items():
        delta = {name: value - before.get(model, {}).get(name, 0.0) for name, value in last.items()}
        if requests := delta["requests"]:
            found[model] = {
                "requests": requests,
                "executions": delta["executions"],
                "mean_batch": round(requests / max(1.0, delta["executions"]), 3),
                "queue_ms": round(delta["queue_ns"] / requests / 1e6, 3),
                "compute_ms": round(delta["compute_ns"] / requests / 1e6, 3),
            }
    return found
