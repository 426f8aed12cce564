"""Triton's Python model of Kokoro, with fakes of Triton's module and of the speaker."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import python_backend
from tests.conftest import ROOT
from tests.python_backend import Tensor, TritonError

FOLDER = ROOT / "model_repository" / "kokoro" / "1"


class Request:
    """Tokens; the first is the loudness. ``cancelled`` is true when the caller has disconnected."""

    def __init__(self, *tokens: int, cancelled: bool = False) -> None:
        self.cancelled = cancelled
        self.tensors = {
            "tokens": np.array(tokens, np.int64),
            "style": np.zeros(256, np.float32),
            "speed": np.ones(1, np.float32),
        }

    def is_cancelled(self) -> bool:
        return self.cancelled


class Speaker:
    """Says the first token once for each; 99 fails."""

    most_tokens = 4

    def __init__(self, folder: Path, threads: int) -> None:
        self.folder, self.threads = folder, threads
        self.spoken: list[int] = []

    def speak(self, tokens: Any, style: Any, speed: Any) -> Any:
        if 99 in tokens:
            raise RuntimeError("/secret/path")
        self.spoken.append(int(tokens[0]))
        return np.full(len(tokens), tokens[0], np.float32)


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> Any:
    python_backend.install_fake(monkeypatch, lambda request, name: Tensor(name, request.tensors[name]))
    module = python_backend.load(FOLDER / "model.py", "kokoro_model")
    monkeypatch.setattr(module, "Speaker", Speaker)
    started = module.TritonPythonModel()
    config = '{"parameters": {"intra_threads": {"string_value": "3"}}}'
    started.initialize({"model_config": config, "model_repository": "/models/m", "model_version": "7"})
    return started


def _sound(answer: Any) -> list[float]:
    (tensor,) = answer.output_tensors
    sound: list[float] = tensor.values.tolist()
    return sound


def test_it_is_loaded_from_its_version_with_its_threads(instance: Any) -> None:
    assert (instance._speaker.folder, instance._speaker.threads) == (Path("/models/m/7"), 3)


def test_each_request_gets_its_sound(instance: Any) -> None:
    answers = instance.execute([Request(5, 5, 5), Request(7, 7)])
    assert [_sound(answer) for answer in answers] == [[5, 5, 5], [7, 7]]


def test_a_cancelled_request_is_not_spoken(instance: Any) -> None:
    gone, spoken = instance.execute([Request(5, 5, cancelled=True), Request(7, 7)])
    assert gone.error.args[1] == TritonError.CANCELLED
    assert (_sound(spoken), instance._speaker.spoken) == ([7, 7], [7])


@pytest.mark.parametrize("tokens", [(), (1,), (1, 1, 1, 1, 1)])
def test_a_request_with_too_few_or_too_many_tokens_fails_alone(instance: Any, tokens: tuple[int, ...]) -> None:
    wrong, spoken = instance.execute([Request(*tokens), Request(7, 7)])
    assert wrong.error.args[1] == TritonError.INVALID_ARG
    assert _sound(spoken) == [7, 7]


def test_a_failure_does_not_tell_its_reason(instance: Any) -> None:
    (failed,) = instance.execute([Request(99, 1)])
    assert failed.error.args == ("speech failed", TritonError.INTERNAL)
