"""How long an execution of a model takes, by how much work of how many calls it joins; past the frontend."""

import asyncio
import random
from dataclasses import dataclass
from typing import Any

import aiohttp

from frontend.operations.transcription.pipeline import Abilities
from frontend.tritons.triton import Triton
from scripts.benchmark.common.target import Target
from scripts.benchmark.product.model_control import Control
from scripts.capacity.fits import Line, ModelFit, fit
from scripts.capacity.measuring.processes import Processes
from scripts.capacity.measuring.traces import ModelCalls

# Long enough that all calls that are sent at once are joined.
_JOINED_MICROSECONDS = 100_000
_BATCHES = (1, 2, 4, 8)
# Of which the middle one counts.
_TIMES = 3
_CALL_SECONDS = 600.0
_SETTLE_SECONDS = 0.15
_US = 1e-6
_NS = 1e-9
_PARTS = ("compute_input", "compute_infer", "compute_output")


@dataclass(frozen=True)
class _Execution:
    seconds: float
    calls: int
    work: float
    longest: float


class Executions:
    """Sends calls of one model to a Triton of our own, for its ``output``, and reads what Triton counted of them."""

    def __init__(self, target: Target, session: aiohttp.ClientSession, triton: Triton, model: str, output: str) -> None:
        self._target, self._session, self._triton, self._model = target, session, triton, model
        self._output = output

    async def fitted(self, calls: ModelCalls, rounds: int, length: Abilities | None) -> ModelFit:
        """What a line says of executions of batches of these calls, of windows of a ``length`` where the model is a
        Whisper; it is left as it was.
        """
        control = Control(self._session, self._target.triton, self._model)
        config = await control.config()
        if refused := await control.load(_alone(config)):
            raise SystemExit(f"{self._model}: {refused}")
        try:
            found, cores = await self._measured(calls, rounds, max(1, int(config.get("max_batch_size", 0))))
        finally:
            await control.load(config)
        # A Whisper's batches take as many steps as their longest call.
        count = 4 if length else 3
        line = Line(*fit((run.seconds, (1.0, run.calls, run.work, run.longest)[:count]) for run in found))
        off = sum(abs(line.seconds(run.work, run.calls, run.longest) / run.seconds - 1) for run in found) / len(found)
        return _model_fit(config, line, cores, off, length)

    async def _measured(self, calls: ModelCalls, rounds: int, most: int) -> tuple[list[_Execution], float]:
        rng, found, processes = random.Random(1), [], Processes()
        for call in calls[:3]:
            await self._send([call])
        worked = spent = 0.0
        sizes = [size for size in _BATCHES if size <= most]
        for turn in range(rounds):
            group = rng.sample(list(calls), min(sizes[turn % len(sizes)], len(calls)))
            runs = [await self._once(group, processes) for _ in range(_TIMES)]
            if joined := sorted(run for run in runs if run is not None):
                seconds, its = joined[len(joined) // 2]
                worked, spent = worked + seconds, spent + its
                works = [work for _, work in group]
                found.append(_Execution(seconds, len(group), sum(works), max(works)))
        return found, spent / worked

    async def _once(self, group: ModelCalls, processes: Processes) -> tuple[float, float] | None:
        """Seconds in the model, and of a processor; nothing where the calls were not joined."""
        before = await self._counted()
        processes.spent()
        await self._send(group)
        spent = processes.spent().triton
        await asyncio.sleep(_SETTLE_SECONDS)
        after = await self._counted()
        return (after[0] - before[0], spent) if after[1] - before[1] == 1 else None

    async def _send(self, group: ModelCalls) -> None:
        infer, model, outputs = self._triton.infer, self._model, [self._output]
        await asyncio.gather(*(infer(model, tensors, outputs, _CALL_SECONDS) for tensors, _ in group))

    async def _counted(self) -> tuple[float, int]:
        """Seconds in the model, and executions."""
        async with self._session.get(f"{self._target.triton}/v2/models/{self._model}/stats") as response:
            stats = (await response.json())["model_stats"][0]
        batches: list[dict[str, Any]] = stats.get("batch_stats", [])
        seconds = sum(batch[part].get("ns", 0) for batch in batches for part in _PARTS) * _NS
        return seconds, int(stats.get("execution_count", 0))


def _alone(config: dict[str, Any]) -> dict[str, Any]:
    """The model with one instance, which waits until all that is sent at once has come."""
    changed = {**config, "instance_group": [{**group, "count": 1} for group in config["instance_group"]]}
    if "dynamic_batching" in config:
        changed["dynamic_batching"] = {"max_queue_delay_microseconds": str(_JOINED_MICROSECONDS)}
    return changed


def _model_fit(config: dict[str, Any], line: Line, cores: float, off: float, length: Abilities | None) -> ModelFit:
    batching = config.get("dynamic_batching", {})
    unit = {"m3": "tokens", "whisper": "seconds of audio", "piper": "phonemes"}[config["name"].partition("_")[0]]
    return ModelFit(
        unit,
        line,
        cores,
        max_batch=max(1, int(config.get("max_batch_size", 0))),
        delay=int(batching.get("max_queue_delay_microseconds", 0)) * _US,
        instances=sum(int(group["count"]) for group in config["instance_group"]),
        stops=config["backend"] == "python",
        error=off,
        window_seconds=length.window_seconds if length else 0.0,
    )
