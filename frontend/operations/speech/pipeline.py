"""From text to an audio file: split, phonemize in a worker, sentences to Triton side by side, joined in order."""

import asyncio
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frontend.audio import encode
from frontend.config import Settings
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.model_queue import Turn
from frontend.errors import InvalidRequest
from frontend.gather import gather_or_cancel
from frontend.offload import Offload, TaskKilledError
from frontend.operations.speech.protocol import SpeechRequest
from frontend.operations.speech.voices import CATALOGUE, Voice
from frontend.text import sentences
from frontend.text.phonemes import phonemize
from frontend.triton import bad_answer
from frontend.usage.bill import Reserves

INPUTS = ("input", "input_lengths", "scales")
OUTPUT = "output"
# The queue before the phonemizer's processes.
PHONEMES = "phonemes"
_PHONEMIZE_SECONDS = 30.0


class SpeechPipeline:
    """Says texts with the Piper voices of a Triton."""

    def __init__(self, settings: Settings, dispatcher: Dispatcher, offload: Offload) -> None:
        self._settings, self._dispatcher, self._offload = settings, dispatcher, offload
        repository = settings.model_repository
        self._voices = {name: Voice.load(entry, repository) for name, entry in CATALOGUE.items()}

    async def run(self, request: SpeechRequest, turn: Turn, reserve: Reserves) -> bytes:
        """The whole audio file."""
        await reserve(request.model, len(request.text))
        voice, name = self._voices[request.voice], request.text_field
        parts = sentences.split(request.text, voice.entry.language)
        try:
            # The first sentence is spoken while the others are phonemized.
            halves = await gather_or_cancel(self._say(voice, some, turn) for some in (parts[:1], parts[1:]) if some)
        except TaskKilledError:
            raise InvalidRequest(f"{name} could not be turned into sounds", param=name) from None
        spoken = [sentence for half in halves for sentence in half]
        if not spoken:
            raise InvalidRequest(f"{name} holds nothing that can be spoken", param=name)
        return await asyncio.to_thread(self._encode, spoken, voice, request.response_format)

    async def _say(self, voice: Voice, parts: list[str], turn: Turn) -> list[NDArray[np.float32]]:
        async with self._dispatcher.slot(PHONEMES, turn):
            ids = await self._offload.run(_PHONEMIZE_SECONDS, phonemize, parts, voice.alphabet)
        # The longest first: the last to be spoken, for which no other is left beside it, are then short ones.
        order = sorted(range(len(ids)), key=lambda place: -len(ids[place]))
        calls = (self._sentence(voice, ids[place], turn) for place in order)
        spoken = await gather_or_cancel(calls, self._settings.calls_at_once)
        return [audio for _, audio in sorted(zip(order, spoken, strict=True), key=lambda pair: pair[0])]

    async def _sentence(self, voice: Voice, ids: list[int], turn: Turn) -> NDArray[np.float32]:
        inputs: dict[str, NDArray[Any]] = {
            "input": np.array([ids], np.int64),
            "input_lengths": np.array([len(ids)], np.int64),
            "scales": np.array(voice.scales, np.float32),
        }
        if voice.multi_speaker:
            inputs["sid"] = np.zeros(1, np.int64)
        arrays = await self._dispatcher.infer(voice.model, lambda: inputs, [OUTPUT], turn)
        audio: NDArray[np.float32] = arrays[OUTPUT].reshape(-1)
        if audio.size == 0:
            raise bad_answer(voice.model, "a sentence without samples")
        return audio

    def _encode(self, spoken: list[NDArray[np.float32]], voice: Voice, response_format: str) -> bytes:
        samples = [encode.to_int16(sentence) for sentence in spoken]
        joined = encode.join(samples, voice.sample_rate, self._settings.sentence_pause_seconds)
        if response_format == "mp3":
            return encode.to_mp3(joined, voice.sample_rate, self._settings.mp3_kbps)
        return encode.to_wav(joined, voice.sample_rate)
