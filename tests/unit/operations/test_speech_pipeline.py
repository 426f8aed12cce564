"""The order in which a text is phonemized and spoken."""

import asyncio
import io
import wave
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest.mock import AsyncMock

import numpy as np
from numpy.typing import NDArray

from frontend.config import Settings
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.model_queue import Bounds, Turn
from frontend.dispatch.pool import Pool
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.shares import FixedShares
from frontend.http.held import Held, Holding
from frontend.offload import Threads
from frontend.operations.speech.pipeline import SpeechPipeline
from frontend.operations.speech.protocol import SpeechRequest
from frontend.text.phonemes import phonemize_first
from frontend.text.sentences import split
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

    async def run(self, function: Callable[..., Any], text: str, alphabet: Any) -> Any:
        first = function is phonemize_first
        parts = split(text, alphabet.language)[:1] if first else split(text, alphabet.language)[1:]
        self.asked.append(parts)
        if not first:
            await self._spoken.wait()
        return [[1] * len(part) for part in parts]

    async def close(self) -> None:
        return


class LongTones(ToldTriton):
    """Says each sentence as a tone of as many samples as it has ids."""

    async def infer(
        self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str], seconds: float
    ) -> Arrays:
        await super().infer(model, inputs, outputs, seconds)
        return {"output": np.ones((1, 1, 1, inputs["input"].shape[1]), np.float32)}


async def _say(triton: ToldTriton, phonemizer: Any, text: str) -> bytes:
    settings = Settings(model_repository=ROOT / "model_repository")
    dispatcher = Dispatcher(Rules(), Bounds(), FixedShares(1, {}))
    await dispatcher.add("triton", triton, {"piper_amy": 4})
    threads = Threads(1)
    phonemizers, encoders = Pool(dispatcher.fix("text", 4), phonemizer), Pool(dispatcher.fix("threads", 2), threads)
    pipeline = SpeechPipeline(settings, dispatcher, phonemizers, encoders)
    async with asyncio.timeout(5):
        turn = Turn("key", 3, None, asyncio.get_running_loop().time() + 10)
        with Holding(Held(10**9), "key") as holding:
            answer = await pipeline.run(SpeechRequest(text, "amy", "wav"), turn, AsyncMock(), holding)
    await dispatcher.close()
    await threads.close()
    return answer


def _tones(answer: bytes) -> list[int]:
    """The lengths in samples of what lies between pauses."""
    with wave.open(io.BytesIO(answer)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    edges = np.flatnonzero(np.diff(np.concatenate([[0], samples != 0, [0]]).astype(int)))
    return [int(length) for length in np.diff(edges)[::2]]


async def test_the_first_sentence_is_spoken_before_the_rest_is_phonemized() -> None:
    triton = ToldTriton()
    phonemizer = SlowPhonemizer(triton.called)
    await _say(triton, phonemizer, "One. Three more. Five.")
    assert phonemizer.asked == [["One."], ["Three more.", "Five."]]
    assert [inputs["input"].shape[1] for _, inputs in triton.calls] == [4, 11, 5]


async def test_of_the_others_the_longest_is_spoken_first() -> None:
    triton = LongTones()
    await _say(triton, SlowPhonemizer(triton.called), "One. Five. Three more. Seventy.")
    assert [inputs["input"].shape[1] for _, inputs in triton.calls] == [4, 11, 8, 5]


async def test_sentences_are_heard_in_the_order_of_the_text() -> None:
    triton = LongTones()
    answer = await _say(triton, SlowPhonemizer(triton.called), "One. Five. Three more. Seventy.")
    assert _tones(answer) == [4, 5, 11, 8]
