"""Loads a model of a running Triton with other settings than its file has."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import aiohttp

from scripts.local_triton.settings import HEADER

# Names of the parameter in our Python models and in ONNX Runtime's.
THREADS = ("intra_threads", "intra_op_thread_count")
# Seconds until a frontend notices that a model is gone.
AWAY_SECONDS = 1.0


@dataclass(frozen=True)
class Knobs:
    """The swept settings. None means that the model lacks the setting."""

    max_queue_delay_us: int | None
    max_batch_size: int | None
    instances: int
    threads: int

    @classmethod
    def of(cls, config: dict[str, Any]) -> "Knobs":
        """What a configuration from Triton says. A model without batches has no delay and no batch size."""
        (threads,) = (config["parameters"][name]["string_value"] for name in THREADS if name in config["parameters"])
        counted = int(config["instance_group"][0]["count"])
        if not config.get("max_batch_size") or "dynamic_batching" not in config:
            return cls(None, None, counted, int(threads))
        delay = int(config["dynamic_batching"].get("max_queue_delay_microseconds", 0))
        return cls(delay, int(config["max_batch_size"]), counted, int(threads))

    def __str__(self) -> str:
        named = zip(("delay", "batch", "instances", "threads"), astuple(self), strict=True)
        return ", ".join(f"{name} {value}" for name, value in named if value is not None)

    def words(self) -> list[str]:
        """The cells of a table."""
        return ["-" if value is None else str(value) for value in astuple(self)]


def overridden(config: dict[str, Any], knobs: Knobs) -> dict[str, Any]:
    """A model's configuration from Triton, with these settings."""
    changed: dict[str, Any] = json.loads(json.dumps(config))
    if knobs.max_queue_delay_us is not None:
        changed["dynamic_batching"]["max_queue_delay_microseconds"] = str(knobs.max_queue_delay_us)
    if knobs.max_batch_size is not None:
        changed["max_batch_size"] = knobs.max_batch_size
        # Triton derived it from the old size.
        changed["dynamic_batching"].pop("preferred_batch_size", None)
    # Groups may differ in what runs.
    for group in changed["instance_group"] if knobs.instances != Knobs.of(config).instances else ():
        group["count"] = knobs.instances
    (threads,) = set(THREADS) & changed["parameters"].keys()
    changed["parameters"][threads] = {"string_value": str(knobs.threads)}
    return changed


class Control:
    """Triton's model control for one model, which ``secret`` opens."""

    def __init__(self, session: aiohttp.ClientSession, triton: str, model: str, secret: str) -> None:
        self._session, self._triton, self._model = session, triton, model
        self._headers = {HEADER: secret}

    async def config(self) -> dict[str, Any]:
        async with self._session.get(f"{self._triton}/v2/models/{self._model}/config") as response:
            config: dict[str, Any] = await response.json()
        if response.status != 200:
            raise SystemExit(f"{self._model}: {config.get('error', response.status)}")
        return config

    async def load_if_needed(self) -> None:
        """Load the model with the configuration of its file, unless it is loaded."""
        async with self._session.get(f"{self._triton}/v2/models/{self._model}/ready") as response:
            await response.read()
        if response.status != 200 and (refused := await self._post("load", {})):
            raise SystemExit(f"{self._model}: {refused}")

    async def load(self, config: dict[str, Any]) -> str:
        """Load with a configuration; return Triton's error, or empty.

        The model is unloaded first, because frontends read the configuration only when a model appears.
        """
        if refused := await self._post("unload", {}):
            raise SystemExit(f"{self._model}: {refused}")
        await asyncio.sleep(AWAY_SECONDS)
        return await self._post("load", {"parameters": {"config": json.dumps(config)}})

    async def _post(self, action: str, body: Mapping[str, Any]) -> str:
        address = f"{self._triton}/v2/repository/models/{self._model}/{action}"
        async with self._session.post(address, json=body, headers=self._headers) as response:
            # A refusal is JSON of no type.
            return "" if response.status == 200 else str((await response.json(content_type=None))["error"])
