"""Requests to the model, their order, and bad answers."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from frontend.access.throttles import UnbilledWorkThrottle
from frontend.catalogue import languages
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds, ModelQueue
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.errors import BadAnswer, Busy, InvalidRequest
from frontend.http.memory import MemoryBudget, MemoryReservation
from frontend.operations.transcription.abilities import Abilities
from frontend.operations.transcription.pipeline import TranscriptionPipeline
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest
from frontend.peers.frontends import FixedFrontends
from frontend.processes.offload import Threads
from frontend.processes.shared_memory import SharedBytes
from frontend.text.sentences import Reader
from frontend.tritons.inference import Inputs, Outputs
from scripts.export_models.triton_code import recognizer_module
from tests.fakes import FakeTriton
from tests.speech import decoded, encode, say

SPEECH = say("Good morning everybody, this is a test.")
WINDOW_SECONDS = 8.0
LANGUAGES = {"en": 50259, "jw": 50356}


class Noting(Dispatcher):
    """Records the cost and the rank of each call."""

    def __init__(self) -> None:
        super().__init__(Rules(), Bounds(), FixedFrontends(1))
        self.costs: list[float] = []
        self.ranks: list[int] = []

    async def infer(
        self,
        model: str,
        inputs: Callable[[], Inputs],
        outputs: Sequence[str],
        context: RequestContext,
        cost: float = 1.0,
    ) -> Outputs:
        self.costs.append(cost)
        self.ranks.append(context.rank)
        return await super().infer(model, inputs, outputs, context, cost)


@dataclass
class Scene:
    """A pipeline with threads and a fake Triton."""

    settings: Settings
    dispatcher: Noting
    threads: Threads
    triton: FakeTriton = field(default_factory=FakeTriton)
    unpaid: UnbilledWorkThrottle = field(default_factory=lambda: UnbilledWorkThrottle(0.0001))

    async def transcribe(self, sound: bytes, language: str = "") -> Transcription:
        decoders, threads = (
            WorkerQueue(self.dispatcher.add_local_queue(name, 2), self.threads) for name in ("audio", "threads")
        )
        pipeline = TranscriptionPipeline(self.settings, self.dispatcher, decoders, threads, self.unpaid, Reader())
        await self.dispatcher.add("triton", self.triton, {"whisper_turbo": 4})
        file, context = SharedBytes(), RequestContext("key", 3, None, asyncio.get_running_loop().time() + 10)
        with MemoryReservation(MemoryBudget(10**9), "key") as holding:
            holding.closing.callback(file.close)
            file.write(sound)
            request = TranscriptionRequest(file, "stt-1", language=language)
            transcription = await pipeline.run(request, context, MagicMock(), holding)
        return transcription


def _repository(folder: Path, **more: Any) -> Path:
    for model in ("whisper_turbo", "whisper_large_v3"):
        path = folder / model / "1" / "whisper" / "quartet.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"window_seconds": WINDOW_SECONDS, "languages": LANGUAGES} | more), encoding="utf-8")
    return folder


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    scene = Scene(Settings(model_repository=_repository(tmp_path)), Noting(), Threads(2))
    yield scene
    await scene.dispatcher.close()
    await scene.threads.close()


async def test_every_window_of_an_earlier_export_costs_a_whole_window(scene: Scene) -> None:
    await scene.transcribe(encode(np.concatenate([SPEECH] * 4), "wav"))
    seconds = [inputs["audio"].shape[1] / 16_000 for _, inputs in scene.triton.calls]
    assert min(seconds) < WINDOW_SECONDS - 1
    assert scene.dispatcher.costs == [WINDOW_SECONDS] * len(seconds)
    # One whole window is the smallest execution.
    assert scene.dispatcher.batch("whisper_turbo") == WINDOW_SECONDS


async def test_a_window_costs_what_is_encoded_of_it(tmp_path: Path) -> None:
    scene = Scene(
        Settings(model_repository=_repository(tmp_path, silence_seconds=1.5, step_seconds=0.5)), Noting(), Threads(2)
    )
    await scene.transcribe(encode(np.concatenate([SPEECH] * 4), "wav"))
    await scene.dispatcher.close()
    await scene.threads.close()
    seconds = [inputs["audio"].shape[1] / 16_000 for _, inputs in scene.triton.calls]
    assert min(scene.dispatcher.costs) < WINDOW_SECONDS
    for cost, spoken in zip(sorted(scene.dispatcher.costs), sorted(seconds), strict=True):
        assert min(WINDOW_SECONDS, spoken + 1.5) <= cost < spoken + 2.0
        assert cost % 0.5 == 0
    assert scene.dispatcher.batch("whisper_turbo") == WINDOW_SECONDS


@pytest.mark.parametrize(
    ("seconds", "work"), [(0.1, 8), (2.0, 8), (2.1, 10), (17.5, 24), (22.0, 28), (22.1, 30), (24.0, 30), (30.0, 30)]
)
def test_the_work_of_a_window_is_what_whisper_encodes(seconds: float, work: float) -> None:
    settings = {"window_seconds": 30, "mel_bins": 80, "silence_seconds": 6, "step_seconds": 2}
    assert Abilities(30.0, silence_seconds=6.0, step_seconds=2.0).work([seconds]) == work
    encoder = recognizer_module("encoding").WindowEncoder(MagicMock(encodes_together=False), settings, 1)
    window = recognizer_module().Window(np.zeros(round(seconds * 16_000), np.float32))
    assert encoder.samples(window) == work * 16_000


async def test_a_window_is_no_longer_than_the_model_says(scene: Scene) -> None:
    file = encode(np.concatenate([SPEECH] * 4), "wav")
    await scene.transcribe(file)
    sizes = [inputs["audio"].shape[1] for _, inputs in scene.triton.calls]
    assert len(sizes) > 1
    assert max(sizes) <= 16_000 * WINDOW_SECONDS < len(decoded(file))


async def test_the_window_of_a_short_recording_goes_before_those_of_a_long_one(scene: Scene) -> None:
    await scene.transcribe(encode(SPEECH, "wav"))
    await scene.transcribe(encode(np.concatenate([SPEECH] * 4), "wav"))
    assert scene.dispatcher.ranks[0] < min(scene.dispatcher.ranks[1:])


async def test_a_transcription_counts_as_billed(scene: Scene) -> None:
    await scene.transcribe(encode(SPEECH, "wav"))
    assert scene.unpaid._buckets.wait("key") == 0


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("word_start", lambda array: array[:, :1]),
        ("word_end", lambda array: array[:, :0]),
        ("word_text", lambda array: np.concatenate([array, array], axis=1)),
        ("word_probability", lambda array: array[:, :1]),
        ("language", lambda array: array[:, :0]),
        ("language", lambda array: np.concatenate([array, array], axis=1)),
        ("avg_logprob", lambda array: array[:, :0]),
        ("no_speech_prob", lambda array: np.concatenate([array, array], axis=1)),
        ("avg_logprob", lambda array: array * np.float32(np.nan)),
        ("word_end", lambda array: array * np.float32(np.inf)),
        ("no_speech_prob", lambda array: None),
    ],
)
async def test_an_answer_of_the_wrong_shape_is_bad(scene: Scene, name: str, change: Callable[[Any], Any]) -> None:
    scene.triton.spoil = lambda arrays: {**arrays, name: change(arrays[name])}
    with pytest.raises(BadAnswer):
        await scene.transcribe(encode(SPEECH, "wav"))


def test_abilities_are_read_from_the_export(tmp_path: Path) -> None:
    assert Abilities.of(_repository(tmp_path), "whisper_large_v3") == Abilities(WINDOW_SECONDS, LANGUAGES.keys())
    folder = _repository(tmp_path / "with silence", silence_seconds=6, step_seconds=2)
    assert Abilities.of(folder, "whisper_turbo") == Abilities(WINDOW_SECONDS, LANGUAGES.keys(), 6.0, 2.0)


async def test_a_language_that_only_other_whispers_know_is_refused_before_the_file_is_read(scene: Scene) -> None:
    with pytest.raises(InvalidRequest, match="stt-1 does not know the language yue$") as refused:
        await scene.transcribe(b"RIFF", "yue")
    assert refused.value.param == "language"


def test_window_rules_come_from_the_settings_and_the_model() -> None:
    rules = Abilities(8.0).rules(Settings(silence_dbfs=-40.0, speech_probability=0.25))
    assert (rules.silence_dbfs, rules.speech_probability, rules.window_seconds) == (-40.0, 0.25, 8.0)


def test_javanese_has_its_iso_code_and_whispers_and_every_other_language_has_one() -> None:
    assert (languages.iso_code("jw"), languages.token_code("jv")) == ("jv", "jw")
    pairs = {code: {languages.iso_code(code), languages.token_code(code)} for code in languages.CODES}
    assert {code for code, codes in pairs.items() if codes != {code}} == {"jw", "jv"}


def test_there_are_the_hundred_languages_of_large_v3() -> None:
    assert len(languages.LANGUAGES) == 100


@pytest.mark.parametrize(("late", "for_a_second"), [(60.0, 1.0), (0.1, 0.0)])
async def test_a_recording_that_would_be_late_because_of_others_is_refused(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, late: float, for_a_second: float
) -> None:
    scene.settings = dataclasses.replace(scene.settings, audio_second_seconds=for_a_second)
    monkeypatch.setattr(ModelQueue, "seconds_late", lambda *_: late)
    with pytest.raises(Busy, match="too busy") as refused:
        await scene.transcribe(encode(SPEECH, "wav"))
    assert int(refused.value.headers["Retry-After"]) >= 1
    assert scene.triton.calls == []


@pytest.mark.parametrize(("late", "for_a_second"), [(-0.1, 0.0), (1.0, 1.0)])
async def test_a_recording_whose_own_length_moves_its_deadline_enough_is_transcribed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, late: float, for_a_second: float
) -> None:
    scene.settings = dataclasses.replace(scene.settings, audio_second_seconds=for_a_second)
    monkeypatch.setattr(ModelQueue, "seconds_late", lambda *_: late)
    assert (await scene.transcribe(encode(SPEECH, "wav"))).text
