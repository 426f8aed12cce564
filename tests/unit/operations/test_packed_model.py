"""Requests of many calls, beside others of their key and of other keys, in virtual time."""

import asyncio
import random
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from frontend.catalogue.models import RERANK, Model
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.errors import BadGateway
from frontend.operations.packed_model import PackedModel
from frontend.operations.rerank.pipeline import OUTPUT
from frontend.peers.frontends import FixedFrontends
from frontend.text.tokens import Ids
from frontend.tritons.inference import Capacity, Inputs, Outputs, Trial
from tests.clocks import VirtualLoop
from tests.conftest import ROOT
from tests.unit.dispatch.servers import FakeTriton

MODEL = Model("rerank-v2-m3", RERANK, triton_model="m3_reranker", max_tokens=8192)
TOKENS_A_SECOND = 6400
T = TypeVar("T")


class OneProcessor(FakeTriton):
    """Two instances on one processor, which computes ``TOKENS_A_SECOND``. ``done`` are the tokens so far."""

    def __init__(self) -> None:
        super().__init__("triton")
        self.takes, self.done = Capacity(2, 32), 0
        self._processor = asyncio.Lock()

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        tokens = int(inputs["input_ids"].size)
        async with self._processor:
            await asyncio.sleep(tokens / TOKENS_A_SECOND)
        self.done += tokens
        return {OUTPUT: np.zeros(inputs["lengths"].shape, np.float32)}

    async def try_out(self, model: str, trial: Trial) -> None:
        """Pass."""


class Product:
    """A reranker and its callers. Make it inside the event loop that uses it."""

    def __init__(self) -> None:
        self.loop, self.triton = asyncio.get_running_loop(), OneProcessor()
        self.dispatcher = Dispatcher(Rules(), Bounds(), FixedFrontends(1))
        settings = Settings(model_repository=ROOT / "model_repository")
        self._model = PackedModel(self.dispatcher, cast(Any, None), MODEL, OUTPUT, (), settings)

    async def start(self) -> None:
        await self.dispatcher.add("triton", self.triton, {MODEL.triton_model: 0})
        for _ in range(8):
            await self.seconds("first", 32, 60)

    async def seconds(self, key: str, texts: int, deadline: float) -> float:
        """The seconds until a request of ``texts`` of 200 tokens is answered."""
        began = self.loop.time()
        context = RequestContext(key, 3, None, began + deadline)
        ids: list[Ids] = [np.zeros(200, np.int32)] * texts
        self.dispatcher.queue(MODEL.triton_model).refuse_early(context)
        await self._model.rows(ids, context)
        return self.loop.time() - began


def _in_virtual_time(story: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)


async def _flood(keys: int, deadline: float, seconds: float) -> float:
    """The share of the work that was done for answers, under ten times as many requests as the model can do."""
    product, rng = Product(), random.Random(1)
    await product.start()
    answered, before = 0, product.triton.done

    async def ask(key: str) -> None:
        nonlocal answered
        try:
            await product.seconds(key, 32, deadline)
            answered += 32 * 200
        except BadGateway:
            pass

    asking: list[asyncio.Task[None]] = []
    end = product.loop.time() + seconds
    while product.loop.time() < end:
        asking.append(asyncio.create_task(ask(f"key {len(asking) % keys}")))
        await asyncio.sleep(rng.expovariate(10 * TOKENS_A_SECOND / (32 * 200)))
    await asyncio.gather(*asking)
    await product.dispatcher.close()
    return answered / (product.triton.done - before)


def test_in_a_flood_nearly_all_that_is_begun_is_answered() -> None:
    # 0.93. In the order of their arrival it is 0.81, and 0.88 if nobody counts the work that follows waiting calls.
    assert _in_virtual_time(_flood(32, 300.0, 700.0)) > 0.91


async def _small_beside_large() -> tuple[float, float]:
    product = Product()
    await product.start()
    large = asyncio.create_task(product.seconds("key", 33, 60))
    await asyncio.sleep(0.05)
    small = await product.seconds("key", 1, 60)
    seconds = small, await large
    await product.dispatcher.close()
    return seconds


def test_a_small_request_does_not_wait_for_the_whole_of_a_large_one_of_its_key() -> None:
    small, large = _in_virtual_time(_small_beside_large())
    assert small < 0.3 * large
