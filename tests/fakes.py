"""A Triton with predictable answers, and keys that tests choose."""

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access import api_key
from frontend.catalogue.endpoints import LIMITS
from frontend.database.tables import KEYS, ORGS, SECRETS, WALLETS
from frontend.errors import ApiError
from frontend.tritons.inference import Capacity, Trial
from frontend.tritons.triton import Arrays, Triton, checked

_SLOTS = 16


async def add_key(engine: AsyncEngine, key: str, **values: Any) -> None:
    """Write ``key`` into the database, with limits that no test reaches unless ``values`` has others."""
    key_id, now = uuid.uuid4().hex, int(time.time())
    given = {"name": "test", "tier": "free", "limits": dict.fromkeys(LIMITS, 1_000_000), **values}
    row = {**given, "id": key_id, "limits": json.dumps(given["limits"]), "created_at": now}
    secret = {"digest": api_key.digest(key), "prefix": api_key.prefix(key), "key_id": key_id, "created_at": now}
    async with engine.begin() as connection:
        await connection.execute(sa.insert(KEYS).values(**row))
        await connection.execute(sa.insert(SECRETS).values(**secret))


async def add_org(engine: AsyncEngine, name: str, balance: int | None = None) -> None:
    """Write an organisation into the database, with a wallet if it has a ``balance`` in micro-CHF."""
    async with engine.begin() as connection:
        await connection.execute(sa.insert(ORGS).values(name=name, created_at=int(time.time())))
        if balance is not None:
            await connection.execute(sa.insert(WALLETS).values(org=name, balance=balance))


class FakeTriton(Triton):
    """Embeds a text as its length, scores a pair by its length, hears one fixed sentence, speaks a ramp.

    A token weighs a quarter of its id modulo four.
    """

    def __init__(self, address: str = "") -> None:
        self.calls: list[tuple[str, dict[str, NDArray[Any]]]] = []
        self.failure: ApiError | None = None
        self.up = True
        self.lacking: set[str] = set()
        self.spoil: Callable[[Arrays], Arrays] = lambda arrays: arrays
        # Each call awaits it.
        self.wait: Callable[[], Awaitable[object]] = partial(asyncio.sleep, 0)

    async def close(self) -> None:
        return

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        return set(models) - self.lacking if self.up else set()

    async def capacity(self, model: str) -> Capacity:
        return Capacity(_SLOTS)

    async def try_out(self, model: str, trial: Trial) -> None:
        checked(model, self.spoil(self._answer(model, trial.inputs, trial.outputs)))

    async def broken_models(self, models: Sequence[str]) -> set[str]:
        return set()

    async def infer(
        self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str], seconds: float
    ) -> Arrays:
        self.calls.append((model, dict(inputs)))
        await self.wait()
        if self.failure is not None:
            raise self.failure
        return checked(model, self.spoil(self._answer(model, inputs, outputs)))

    def _answer(self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str]) -> Arrays:
        if model in ("m3_embedder", "added_e5"):
            lengths = inputs["lengths"][0]
            vectors = np.zeros((1, len(lengths), 1024), np.float32)
            vectors[0, np.arange(len(lengths)), lengths % 1024] = 1
            arrays = {"embedding": vectors, "token_weights": (inputs["input_ids"] % 4 / 4).astype(np.float32)}
            return {name: arrays[name] for name in outputs}
        if model in ("m3_reranker", "added_raw"):
            return {"score": (1 / inputs["lengths"]).astype(np.float32)}
        ramp = np.linspace(-0.5, 0.5, 1000, dtype=np.float32)
        if model == "kokoro":
            return {"audio": ramp}
        if model.startswith("piper_"):
            return {"output": ramp.reshape(1, 1, 1, -1)}
        return self._transcript(inputs, outputs)

    @staticmethod
    def _transcript(inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str]) -> Arrays:
        arrays: Arrays = {
            "language": np.array([[inputs["language"][0, 0] or b"en"]], np.object_),
            "avg_logprob": np.array([[-0.25]], np.float32),
            "no_speech_prob": np.array([[0.125]], np.float32),
            "word_start": np.array([[0.0, 0.5]], np.float32),
            "word_end": np.array([[0.5, 1.0]], np.float32),
            "word_text": np.array([[b" hello", b" there"]], np.object_),
            "word_probability": np.array([[0.75, 0.5]], np.float32),
        }
        return {name: arrays[name] for name in outputs}
