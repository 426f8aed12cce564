"""What CTranslate2's engine asks of CTranslate2; what it hears of people is what OpenVINO's is held to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from client.recordings import recordings
from scripts.export_models.triton_code import recognizer_module
from tests.unit.whisper.engines import ctranslate_engine, features_of

code = recognizer_module("ctranslate_engine")


@pytest.fixture(scope="module")
def encoded(ctranslate: Any) -> list[Any]:
    people = [recordings("en")[2], recordings("it")[3]]
    return list(ctranslate.encode(np.concatenate([features_of(each.samples(), 8) for each in people])))


def test_each_window_has_its_own_output_of_the_encoder(encoded: list[Any]) -> None:
    assert [np.asarray(window.output).shape for window in encoded] == [(1, 400, 512)] * 2
    assert not np.array_equal(encoded[0].output, encoded[1].output)


def test_windows_are_decoded_the_same_alone_and_in_their_batch(
    ctranslate: Any, tokens: Any, encoded: list[Any]
) -> None:
    prompts = [tokens.task("en"), tokens.task("it")]
    together = ctranslate.decode(encoded, prompts, 50, 0.0, [None])
    swapped = ctranslate.decode(encoded[::-1], prompts[::-1], 50, 0.0, [None])[::-1]
    alone = [
        ctranslate.decode([window], [prompt], 50, 0.0, [None])[0]
        for window, prompt in zip(encoded, prompts, strict=True)
    ]
    assert [text.tokens for text in together] == [text.tokens for text in swapped] == [text.tokens for text in alone]


def test_an_empty_text_has_no_words(ctranslate: Any, tokens: Any, encoded: list[Any]) -> None:
    nothing = recognizer_module("engines").Decoded([], -0.1, 0.0)
    (aligned,) = ctranslate.align(encoded[:1], tokens.task("en"), [nothing], [4.0])
    assert (aligned.starts.tolist(), list(aligned.probabilities)) == ([0.0], [])


@pytest.mark.parametrize("context", ["", "word " * 300])
def test_decoding_ends_after_the_most_tokens(ctranslate: Any, tokens: Any, encoded: list[Any], context: str) -> None:
    prompt = [*tokens.earlier(context, 224), *tokens.task("en")]
    (text,) = ctranslate.decode(encoded[:1], [prompt], 4, 0.0, [None])
    assert len(text.tokens) == 4


@dataclass
class Model:
    """Stands in for CTranslate2's model, and notes what it is asked."""

    answer: list[int] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[tuple[int, ...], Any, dict[str, Any]]] = field(default_factory=list)
    encoded: Any = None
    given: list[Any] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)

    def encode(self, features: Any) -> Any:
        output = np.arange(features.shape[0], dtype=np.float32).repeat(8).reshape(-1, 1, 8)
        self.encoded = code.ctranslate2.StorageView.from_array(output)
        return self.encoded

    def detect_language(self, encoded: Any) -> list[Any]:
        self.given.append(encoded)
        return []

    def generate(self, encoded: Any, prompts: Sequence[list[int]], **settings: Any) -> list[SimpleNamespace]:
        self.given.append(encoded)
        self.asked.append((tuple(encoded.shape), list(prompts), settings))
        result = SimpleNamespace(sequences_ids=[self.answer, [1]], scores=[-0.25, -0.5], no_speech_prob=0.125)
        return [result for _ in prompts]

    def align(self, encoded: Any, start: list[int], tokens: list[list[int]], frames: list[int]) -> list[Any]:
        self.asked.append((tuple(encoded.shape), start, {"tokens": tokens, "frames": frames}))
        return [SimpleNamespace(alignments=self.pairs, text_token_probs=[0.5] * len(each)) for each in tokens]


Making = Callable[..., Any]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def making(exported: Path, model: Model, monkeypatch: pytest.MonkeyPatch) -> Making:
    """Engines of that model."""

    def made(_: str, **settings: Any) -> Model:
        model.settings = settings
        return model

    monkeypatch.setattr(code.ctranslate2.models, "Whisper", made)
    return lambda *arguments, **values: ctranslate_engine(exported, *arguments, **values)


def _windows(count: int) -> list[Any]:
    return [recognizer_module("engines").Encoded(np.zeros((1, 1500, 8), np.float32)) for _ in range(count)]


def test_a_search_has_its_beam(making: Making, model: Model) -> None:
    making(4).decode(_windows(2), [[1, 2], [3, 4]], 50, 0.0, [None])
    ((shape, prompts, settings),) = model.asked
    assert (shape, prompts) == ((2, 1500, 8), [[1, 2], [3, 4]])
    assert settings["beam_size"] == 4
    assert "num_hypotheses" not in settings


def test_at_a_temperature_the_best_of_five_samples_is_taken(making: Making, model: Model) -> None:
    making(4).decode(_windows(1), [[1, 2]], 50, 0.5, [None])
    ((_, _, settings),) = model.asked
    assert (settings["beam_size"], settings["num_hypotheses"], settings["sampling_topk"]) == (1, 5, 0)
    assert settings["sampling_temperature"] == 0.5


def test_the_text_is_without_its_end_and_as_likely_as_with_it(making: Making, model: Model, tokens: Any) -> None:
    model.answer = [5, 6, 7, tokens.end]
    (decoded,) = making().decode(_windows(1), [[1, 2]], 49, 0.0, [None])
    assert (decoded.tokens, decoded.logprob, decoded.no_speech_prob) == ([5, 6, 7], -1.0, 0.125)
    assert decoded.avg_logprob == -0.25


def test_words_are_aligned_after_the_task_within_the_sound(making: Making, model: Model, tokens: Any) -> None:
    """CTranslate2 adds itself that no times are wanted, and counts frames of a hundredth of a second."""
    decoded = [recognizer_module("engines").Decoded(tokens, -1.0, 0.0) for tokens in ([5], [6, 7])]
    making().align(_windows(2), tokens.task("de"), decoded, [1.0, 8.01])
    ((shape, start, given),) = model.asked
    assert shape == (2, 1500, 8)
    assert start == tokens.task("de")[:3]
    assert given == {"tokens": [[5], [6, 7]], "frames": [100, 800]}


@pytest.mark.parametrize(("device", "together"), [("cpu", False), ("cuda", True)])
def test_windows_are_encoded_together_on_a_gpu_alone(making: Making, device: str, together: bool) -> None:
    engine = making(device=device)
    assert engine.encodes_together is together
    assert len(engine.encode(np.zeros((3, 80, 3000), np.float32))) == 3


def test_the_output_of_a_whole_batch_stays_on_its_device(making: Making, model: Model) -> None:
    engine = making(device="cuda")
    windows = engine.encode(np.zeros((3, 80, 3000), np.float32))
    engine.languages(windows)
    engine.decode(windows, [[1, 2]] * 3, 50, 0.0, [None] * 3)
    assert [each is model.encoded for each in model.given] == [True, True]


@pytest.mark.parametrize("places", [[0, 1], [1, 2], [2]], ids=["first", "last", "one"])
def test_neighbours_in_a_batch_are_not_copied(making: Making, model: Model, places: list[int]) -> None:
    engine = making(device="cuda")
    windows = engine.encode(np.zeros((3, 80, 3000), np.float32))
    engine.decode([windows[at] for at in places], [[1, 2]] * len(places), 50, 0.0, [None] * len(places))
    given = np.asarray(model.given[0])
    assert given[:, 0, 0].tolist() == places
    assert np.shares_memory(given, np.asarray(model.encoded))


@pytest.mark.parametrize("places", [[0, 2], [2, 0, 1], [0, 0, 1, 2]], ids=["some", "in another order", "one twice"])
def test_other_windows_are_put_together(making: Making, model: Model, places: list[int]) -> None:
    engine = making(device="cuda")
    windows = engine.encode(np.zeros((3, 80, 3000), np.float32))
    engine.decode([windows[at] for at in places], [[1, 2]] * len(places), 50, 0.0, [None] * len(places))
    assert np.asarray(model.given[0])[:, 0, 0].tolist() == places


@pytest.mark.parametrize("places", [[0, 1], [0, 2], [2, 1]])
def test_windows_in_bfloat16_are_put_together_in_bfloat16(making: Making, model: Model, places: list[int]) -> None:
    engine, kinds = making(device="cuda", compute_type="bfloat16"), code.ctranslate2.DataType
    encode = model.encode
    model.encode = lambda features: encode(features).to(kinds.bfloat16)  # type: ignore[method-assign]
    windows = engine.encode(np.zeros((3, 80, 3000), np.float32))
    engine.decode([windows[at] for at in places], [[1, 2]] * len(places), 50, 0.0, [None] * len(places))
    (given,) = model.given
    assert given.dtype == kinds.bfloat16
    assert np.asarray(given.to(kinds.float32))[:, 0, 0].tolist() == places


def test_the_configuration_of_its_place_is_used(making: Making, model: Model) -> None:
    making(device="cuda", compute_type="float16")
    assert model.settings == {
        "device": "cuda",
        "device_index": 0,
        "compute_type": "float16",
        "intra_threads": 1,
        "inter_threads": 1,
    }


@pytest.mark.parametrize(
    ("pairs", "tokens", "starts"),
    [
        ([(0, 5), (0, 6), (1, 10), (2, 20)], 2, [0.1, 0.2, 0.4]),
        ([(0, 5), (2, 20), (3, 30)], 3, [0.1, 0.4, 0.4, 0.6]),
        ([(1, 10), (2, 20)], 2, [0.2, 0.2, 0.4]),
        ([(0, 5), (1, 10), (1, 12)], 2, [0.1, 0.2, 0.24]),
        ([(0, 5), (3, 40)], 1, [0.1, 0.8]),
        ([], 2, [0, 0, 0]),
    ],
    ids=["the first frame of each", "none in the middle", "none first", "no end", "a token too many", "none at all"],
)
def test_a_token_starts_at_its_first_frame_or_with_the_next_one(
    making: Making, model: Model, pairs: list[tuple[int, int]], tokens: int, starts: list[float]
) -> None:
    model.pairs = pairs
    decoded = recognizer_module("engines").Decoded([1] * tokens, -1.0, 0.0)
    (aligned,) = making().align(_windows(1), [1, 2, 3, 4], [decoded], [1.0])
    assert aligned.starts.tolist() == pytest.approx(starts)
