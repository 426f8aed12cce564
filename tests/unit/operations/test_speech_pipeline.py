"""The order in which a text is phonemized and spoken."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest.mock import AsyncMock

from numpy.typing import NDArray

from frontend.config import Settings
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.model_queue import Bounds, Turn
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.shares import FixedShares
from frontend.operations.speech.pipeline import PHONEMES, SpeechPipeline
from frontend.operations.speech.protocol import SpeechRequest
from frontend.triton import Arrays
from tests.conftest import ROOT
from tests.fakes import FakeTriton


class ToldTriton(FakeTriton):
    """Says when it was called first."""

    def __init__(self) -> None:
        super().__init__()
        self.called = asyncio.Event()

    async def infer(
        self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str], seconds: float
    ) -> Arrays:
        self.called.set()
        return await super().infer(model, inputs, outputs, seconds)


class SlowPhonemizer:
    """Gives each sentence as many ids as it has letters; all but the first wait until something was spoken."""

    def __init__(self, spoken: asyncio.Event) -> None:
        self._spoken = spoken
        self.asked: list[list[str]] = []

    async def run(self, seconds: float, function: Callable[..., Any], parts: list[str], alphabet: Any) -> Any:
        self.asked.append(parts)
        if len(self.asked) > 1:
            await self._spoken.wait()
        return [[1] * len(part) for part in parts]


async def test_the_first_sentence_is_spoken_before_the_rest_is_phonemized() -> None:
    triton = ToldTriton()
    phonemizer: Any = SlowPhonemizer(triton.called)
    settings = Settings(model_repository=ROOT / "model_repository")
    dispatcher = Dispatcher(Rules(), Bounds(), FixedShares(1, {}))
    await dispatcher.add("triton", triton, {"piper_amy": 4})
    dispatcher.fix(PHONEMES, 2)
    pipeline = SpeechPipeline(settings, dispatcher, phonemizer)
    async with asyncio.timeout(5):
        turn = Turn("key", 3, None, asyncio.get_running_loop().time() + 10)
        await pipeline.run(SpeechRequest("One. Three more. Five.", "amy", "wav"), turn, AsyncMock())
    await dispatcher.close()
    assert phonemizer.asked == [["One."], ["Three more.", "Five."]]
    assert [inputs["input"].shape[1] for _, inputs in triton.calls] == [4, 11, 5]
