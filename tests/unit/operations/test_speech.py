"""Texts become audio: order, pauses, limits and inputs."""

import asyncio
import io
import json
import re
import wave
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock

import av
import numpy as np
import pytest
from google.protobuf import text_format
from numpy.typing import NDArray
from tritonclient.grpc import model_config_pb2

from frontend.access.throttles import UnbilledWorkThrottle
from frontend.catalogue.aliases import Aliases
from frontend.catalogue.models import Served
from frontend.catalogue.voices import VOICES
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.errors import BadAnswer, BadGateway, InvalidRequest
from frontend.extensions.streams.speech import stream
from frontend.http.memory import MemoryBudget, MemoryReservation
from frontend.operations.speech import pipeline as pipeline_module
from frontend.operations.speech.pipeline import SpeechPipeline
from frontend.operations.speech.protocol import SpeechRequest, parse_mobile, parse_openai
from frontend.operations.speech.speaking import LengthLimit
from frontend.operations.speech.voices import KokoroVoice, PiperVoice, load
from frontend.peers.frontends import FixedFrontends
from frontend.processes.offload import TaskKilledError, Threads
from frontend.text.alphabets import KokoroAlphabet
from frontend.text.phonemes import Utterance, phonemize_first
from frontend.text.sentences import Reader
from frontend.tritons.triton import Arrays
from tests.conftest import ROOT
from tests.fakes import FakeTriton

_CLAUSE = re.compile(r"[^,]+,?")


class Phonemizer:
    """Fakes phonemes: one id per letter. A sentence continues after a comma."""

    async def run(self, function: Callable[..., Any], text: str | list[str], alphabet: Any, split: Any) -> Any:
        sentences = split(text, alphabet.language) if isinstance(text, str) else text
        utterances = [
            [Utterance([1] * len(part), not part.endswith(",")) for part in _CLAUSE.findall(whole)]
            for whole in sentences
        ]
        if function is phonemize_first:
            return utterances[0], sentences[1:]
        return [part for parts in utterances for part in parts]

    async def close(self) -> None:
        return


class LongTones(FakeTriton):
    """Returns one sample per id."""

    async def infer(
        self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str], seconds: float
    ) -> Arrays:
        await super().infer(model, inputs, outputs, seconds)
        return {"output": np.ones((1, 1, 1, inputs["input"].shape[1]), np.float32)}


@pytest.fixture
async def triton() -> LongTones:
    return LongTones()


@asynccontextmanager
async def _pipeline(
    triton: LongTones | None,
    phonemizer: Phonemizer | None = None,
    unpaid: UnbilledWorkThrottle | None = None,
    places: int = 4,
    **values: Any,
) -> AsyncIterator[SpeechPipeline]:
    """``places`` is the most calls in flight; ``values`` are settings."""
    settings = Settings(**{"model_repository": ROOT / "model_repository", "voices": "ryan", **values})
    dispatcher = Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    threads = Threads(1)
    phonemizers = WorkerQueue(dispatcher.add_local_queue("text", 4), cast(Any, phonemizer or Phonemizer()))
    encoders = WorkerQueue(dispatcher.add_local_queue("threads", 2), threads)
    pipeline = SpeechPipeline(
        settings, dispatcher, phonemizers, encoders, unpaid or UnbilledWorkThrottle(1000), Reader()
    )
    if triton is not None:
        await dispatcher.add("triton", triton, {"piper_ryan": places})
    async with asyncio.timeout(5):
        yield pipeline
    await dispatcher.close()
    await threads.close()


async def _spoken(pipeline: SpeechPipeline, text: str, response_format: str = "wav", stream_format: str = "") -> bytes:
    context = RequestContext("key", 3, None, asyncio.get_running_loop().time() + 10)
    with MemoryReservation(MemoryBudget(10**9), "key") as holding:
        asked = SpeechRequest(text, "ryan", response_format, "tts-1", stream_format=stream_format)
        if not stream_format:
            return await pipeline.run(asked, context, MagicMock(), holding)
        answer, others = await stream(pipeline, asked, context, MagicMock(), holding)
        return answer + b"".join([piece async for piece in others])


async def _say(
    triton: LongTones | None,
    text: str,
    response_format: str = "wav",
    phonemizer: Phonemizer | None = None,
    unpaid: UnbilledWorkThrottle | None = None,
    stream_format: str = "",
    **values: Any,
) -> bytes:
    """The audio of a text; ``values`` are settings."""
    async with _pipeline(triton, phonemizer, unpaid, **values) as pipeline:
        return await _spoken(pipeline, text, response_format, stream_format)


def _tones(answer: bytes) -> list[int]:
    """The lengths of the tones between pauses, in samples."""
    with wave.open(io.BytesIO(answer)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    edges = np.flatnonzero(np.diff(np.concatenate([[0], samples != 0, [0]]).astype(int)))
    return [int(length) for length in np.diff(edges)[::2]]


async def test_the_longest_sentence_is_spoken_first_and_all_are_heard_in_order(triton: LongTones) -> None:
    answer = await _say(triton, "One. Five. Three more. Seventy.")
    assert [inputs["input"].shape[1] for _, inputs in triton.calls] == [11, 8, 5, 4]
    assert _tones(answer) == [4, 5, 11, 8]


class SlowTones(LongTones):
    """Takes 10 ms for a sentence."""

    async def infer(
        self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str], seconds: float
    ) -> Arrays:
        await asyncio.sleep(0.01)
        return await super().infer(model, inputs, outputs, seconds)


async def test_a_short_text_does_not_wait_for_eight_sentences_of_a_long_one_of_its_key() -> None:
    triton = SlowTones()
    async with _pipeline(triton, places=1) as pipeline:
        await _spoken(pipeline, "Two words. Two words.")
        triton.calls.clear()
        long = asyncio.create_task(_spoken(pipeline, "Two words. " * 20))
        await asyncio.sleep(0.03)
        await _spoken(pipeline, "One.")
        await long
    lengths = [inputs["input"].shape[1] for _, inputs in triton.calls]
    assert lengths.index(4) < 7
    assert len(lengths) == 21


async def test_the_order_in_the_queue_of_a_voice_is_none_in_that_of_the_threads(
    triton: LongTones, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_module, "_INLINE_SAMPLES", 0)
    contexts: list[RequestContext] = []
    async with _pipeline(triton, calls_at_once=2) as pipeline:
        run = pipeline.encoders.run

        async def noted(context: RequestContext, *given: Any) -> Any:
            contexts.append(context)
            return await run(context, *given)

        monkeypatch.setattr(pipeline.encoders, "run", noted)
        await _spoken(pipeline, "Two words. " * 8)
    assert len(contexts) >= 8
    assert {(context.due, context.follows) for context in contexts} == {(None, 0.0)}


async def test_speech_waits_for_no_triton_that_was_never_there() -> None:
    with pytest.raises(BadGateway):
        await _say(None, "One.")


@pytest.mark.parametrize("seconds", [0.0, 0.5])
async def test_the_pause_between_sentences_is_a_setting(triton: LongTones, seconds: float) -> None:
    answer = await _say(triton, "One. Five.", sentence_pause_seconds=seconds)
    with wave.open(io.BytesIO(answer)) as file:
        assert file.getnframes() == 4 + 5 + int(seconds * 22_050)


async def test_there_is_no_pause_within_a_sentence(triton: LongTones) -> None:
    assert _tones(await _say(triton, "One, five. Six.")) == [4 + 6, 4]


async def test_a_stream_has_the_same_parts_and_pauses(triton: LongTones) -> None:
    streamed = await _say(triton, "One, five. Six. Seventy.", "flac", stream_format="audio")
    with av.open(io.BytesIO(streamed)) as file:
        assert sum(frame.samples for frame in file.decode(audio=0)) == 4 + 6 + 4 + 8 + 2 * int(0.2 * 22_050)


async def test_a_stream_ends_where_it_becomes_too_long() -> None:
    with pytest.raises(InvalidRequest, match="of audio"):
        await _say(Minutes(), "A sentence. " * 40, stream_format="audio", max_speech_seconds=150.0)


@pytest.mark.parametrize("kbps", [32, 128])
async def test_the_bit_rate_of_mp3_is_a_setting(triton: LongTones, kbps: int) -> None:
    answer = await _say(triton, "One.", "mp3", mp3_kbps=kbps)
    with av.open(io.BytesIO(answer)) as file:
        assert file.streams.audio[0].bit_rate == kbps * 1000


class Minutes(LongTones):
    """Returns a minute for each sentence."""

    async def infer(
        self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str], seconds: float
    ) -> Arrays:
        await super().infer(model, inputs, outputs, seconds)
        return {"output": np.ones((1, 1, 1, 60 * 22_050), np.float32)}


async def test_a_text_with_too_much_audio_is_refused_early() -> None:
    triton = Minutes()
    with pytest.raises(InvalidRequest, match=r"^input makes more than 150 s of audio: send it in several requests$"):
        await _say(triton, "A sentence. " * 40, max_speech_seconds=150.0, calls_at_once=1)
    assert len(triton.calls) < 6


async def test_the_pauses_belong_to_the_audio(triton: LongTones) -> None:
    with pytest.raises(InvalidRequest, match="of audio"):
        await _say(triton, "One. Five. Six.", max_speech_seconds=1.0, sentence_pause_seconds=0.4)


async def test_audio_as_long_as_may_be_is_spoken(triton: LongTones) -> None:
    assert _tones(await _say(triton, "One. Five.", max_speech_seconds=1.0, sentence_pause_seconds=0.4)) == [4, 5]


class Halting(LongTones):
    """Returns no samples for a sentence of four letters."""

    async def infer(
        self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str], seconds: float
    ) -> Arrays:
        arrays = await super().infer(model, inputs, outputs, seconds)
        return {"output": arrays["output"][..., :0]} if inputs["input"].shape[1] == 4 else arrays


async def test_a_text_with_a_sentence_that_has_no_samples_is_no_answer() -> None:
    with pytest.raises(BadAnswer):
        await _say(Halting(), "Seventy. One. Five.")


class Killed(Phonemizer):
    """Fails like a killed process."""

    async def run(self, function: Callable[..., Any], text: str | list[str], alphabet: Any, *before: int) -> Any:
        await asyncio.sleep(0.2)
        raise TaskKilledError("late")


async def test_a_text_that_kills_its_process_counts_as_unbilled(triton: LongTones) -> None:
    unpaid = UnbilledWorkThrottle(0.001)
    with pytest.raises(InvalidRequest, match="turned into sounds"):
        await _say(triton, "One. Five.", phonemizer=Killed(), unpaid=unpaid)
    assert unpaid._buckets.wait("key") > 0.5


class Slow(Phonemizer):
    """Takes a tenth of a second."""

    async def run(self, function: Callable[..., Any], text: str | list[str], alphabet: Any, *before: int) -> Any:
        await asyncio.sleep(0.1)
        return await super().run(function, text, alphabet, *before)


@pytest.mark.parametrize("stream_format", ["", "audio"])
async def test_speech_counts_as_billed(triton: LongTones, stream_format: str) -> None:
    unpaid = UnbilledWorkThrottle(0.001)
    await _say(triton, "One. Five.", phonemizer=Slow(), unpaid=unpaid, stream_format=stream_format)
    assert unpaid._buckets.wait("key") == 0


def _repository(folder: Path, **values: Any) -> Path:
    """A repository of the voice ryan with changed settings."""
    source = ROOT / "model_repository" / "piper_ryan" / "1" / "voice.json"
    target = folder / "piper_ryan" / "1" / "voice.json"
    target.parent.mkdir(parents=True)
    settings = json.loads(source.read_text(encoding="utf-8"))
    target.write_text(json.dumps({**settings, **values}), encoding="utf-8")
    return folder


@pytest.mark.parametrize(("speakers", "told"), [(1, False), (2, True)])
async def test_a_voice_with_several_speakers_uses_the_first(
    triton: LongTones, tmp_path: Path, speakers: int, told: bool
) -> None:
    repository = _repository(tmp_path, num_speakers=speakers)
    await _say(triton, "One.", model_repository=repository)
    ((_, inputs),) = triton.calls
    assert ("sid" in inputs) is told
    assert not told or inputs["sid"].tolist() == [0]


async def test_inputs_have_the_length_and_the_scales_of_the_voice(triton: LongTones, tmp_path: Path) -> None:
    scales = {"noise_scale": 0.25, "length_scale": 1.5, "noise_w": 0.75}
    repository = _repository(tmp_path, inference=scales, audio={"sample_rate": 16_000})
    answer = await _say(triton, "One.", model_repository=repository)
    ((_, inputs),) = triton.calls
    assert inputs["input_lengths"].tolist() == [4]
    assert inputs["scales"].tolist() == [0.25, 1.5, 0.75]
    with wave.open(io.BytesIO(answer)) as file:
        assert file.getframerate() == 16_000


def test_missing_scales_are_those_of_piper(tmp_path: Path) -> None:
    voice = load(VOICES["ryan"], _repository(tmp_path, inference={}))
    assert isinstance(voice, PiperVoice)
    assert voice.scales == (0.667, 1.0, 0.8)


def _kokoro(rows: int) -> KokoroVoice:
    alphabet = KokoroAlphabet("it", "it", {})
    styles = np.repeat(np.arange(rows, dtype=np.float32)[:, None], 256, axis=1)
    return KokoroVoice("kokoro", "audio", alphabet, 24_000, styles=styles)


@pytest.mark.parametrize(("symbols", "row"), [(1, 0), (7, 6), (10, 9), (12, 9)])
def test_kokoro_speaks_in_the_style_of_the_number_of_symbols(symbols: int, row: int) -> None:
    inputs = _kokoro(10).inputs([0, *[5] * symbols, 0], 1.5)
    assert set(inputs["style"].tolist()) == {row}
    assert (inputs["tokens"].tolist(), inputs["speed"].tolist()) == ([0, *[5] * symbols, 0], [1.5])


def test_kokoros_model_takes_what_the_voice_gives() -> None:
    config = text_format.Parse(
        (ROOT / "model_repository" / "kokoro" / "config.pbtxt").read_text(encoding="utf-8"),
        model_config_pb2.ModelConfig(),
    )
    voice = _kokoro(10)
    inputs = voice.inputs([0, 5, 0], 1.0)
    kinds = {np.dtype(np.int64): model_config_pb2.TYPE_INT64, np.dtype(np.float32): model_config_pb2.TYPE_FP32}
    assert {tensor.name: tensor.data_type for tensor in config.input} == {
        name: kinds[array.dtype] for name, array in inputs.items()
    }
    assert [tensor.name for tensor in config.output] == [voice.output]


def test_what_the_operator_has_ignored_is_unknown_to_the_mobile_endpoint() -> None:
    served = Served.of(aliases=Aliases(ignore=("user",)))
    assert parse_openai({"input": "One.", "voice": "amy", "user": "me"}, served).text == "One."
    with pytest.raises(InvalidRequest, match="unknown parameter: user"):
        parse_mobile({"text": "One.", "voice": "amy", "user": "me"}, served)


def test_memory_is_reserved_for_sound_beyond_what_was_expected() -> None:
    reserved: list[int] = []
    limit = LengthLimit(10.0, 16_000, "input", 100, reserved.append)
    for samples in (50, 20, 10):
        limit.add(samples)
    assert reserved == [40, 20]
