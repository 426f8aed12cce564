"""Triton's Python model of texts, with fakes of Triton's module and of the text model."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import python_backend
from tests.conftest import ROOT
from tests.python_backend import Tensor, TritonError

FOLDER = ROOT / "model_repository" / "m3_embedder" / "1"


class Request:
    """Texts of these lengths, without ``missing`` tokens. ``cancelled`` is true when the caller has disconnected.

    With ``weights`` it asks for those of the tokens too.
    """

    def __init__(self, *lengths: int, missing: int = 0, cancelled: bool = False, weights: bool = False) -> None:
        self.cancelled, self.weights = cancelled, weights
        self.tensors = {
            "input_ids": np.arange(sum(lengths) - missing, dtype=np.int32)[None],
            "lengths": np.array([lengths], np.int32),
        }

    def is_cancelled(self) -> bool:
        return self.cancelled

    def requested_output_names(self) -> list[str]:
        return ["embedding", *["token_weights"] * self.weights]


class TextModel:
    """A text's row is its length, or zeros if nobody waits for its block; texts of 99 tokens fail.

    Each token of a text weighs its length.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        self.folder, self.threads = folder, threads
        self.computed: list[int] = []
        self.block, self.weighs = 1, True

    def weigh(self, texts: Sequence[Any], weighed: Any, wanted: Callable[[Any], bool]) -> Any:
        lengths = np.array([len(text) for text in texts], int)
        if 99 in lengths:
            raise RuntimeError("/secret/path")
        blocks = np.split(np.arange(len(texts)), range(self.block, len(texts), self.block))
        done = np.concatenate([block for block in blocks if wanted(block)] or [np.zeros(0, int)])
        self.computed, rows = lengths[done].tolist(), np.zeros((len(texts), 2), np.float32)
        rows[done] = lengths[done, None]
        return rows, [
            np.full(length, length * is_weighed, np.float32)
            for length, is_weighed in zip(lengths, weighed, strict=True)
        ]


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> Any:
    python_backend.install_fake(monkeypatch, lambda request, name: Tensor(name, request.tensors[name]))
    module = python_backend.load(FOLDER / "model.py", "m3_model")
    monkeypatch.setattr(module, "TextModel", TextModel)
    started = module.TritonPythonModel()
    config = '{"output": [{"name": "embedding"}], "parameters": {"intra_threads": {"string_value": "3"}}}'
    started.initialize({"model_config": config, "model_repository": "/models/m", "model_version": "7"})
    return started


def _rows(answers: Sequence[Any]) -> list[Any]:
    return [answer.list_of("embedding") for answer in answers]


def test_it_is_loaded_from_its_version_with_its_threads(instance: Any) -> None:
    assert (instance._model.folder, instance._model.threads) == (Path("/models/m/7"), 3)


def test_requests_are_computed_together_and_each_gets_its_rows(instance: Any) -> None:
    assert _rows(instance.execute([Request(2, 5), Request(4)])) == [[[2, 2], [5, 5]], [[4, 4]]]
    assert instance._model.computed == [2, 5, 4]


def test_a_request_without_texts_has_no_rows(instance: Any) -> None:
    """Frontends send such requests to find out whether the process lives."""
    assert _rows(instance.execute([Request(), Request(4)])) == [[], [[4, 4]]]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_cancelled_request_is_not_computed(instance: Any, place: int) -> None:
    requests = [Request(2), Request(4)]
    requests.insert(place, Request(3, 3, cancelled=True))
    answers = instance.execute(requests)
    gone = answers.pop(place)
    assert (gone.error.args[1], gone.output_tensors) == (TritonError.CANCELLED, [])
    assert _rows(answers) == [[[2, 2]], [[4, 4]]]
    assert instance._model.computed == [2, 4]


@pytest.mark.parametrize("place", [0, 1])
def test_a_request_in_a_block_with_a_cancelled_one_gets_its_rows(instance: Any, place: int) -> None:
    instance._model.block = 8
    requests = [Request(2)]
    requests.insert(place, Request(3, 3, cancelled=True))
    answers = instance.execute(requests)
    del answers[place]
    assert _rows(answers) == [[[2, 2]]]


@pytest.mark.parametrize("bad", [Request(20, missing=7), Request(20, missing=-7), Request(3, 0), Request(3, -1, 1)])
def test_a_request_with_wrong_lengths_fails_alone(instance: Any, bad: Request) -> None:
    first, wrong, last = instance.execute([Request(2), bad, Request(4)])
    assert wrong.error.args[1] == TritonError.INVALID_ARG
    assert _rows([first, last]) == [[[2, 2]], [[4, 4]]]


def test_each_request_of_a_failed_run_has_an_error_of_its_own_without_its_reason(instance: Any) -> None:
    first, second = instance.execute([Request(2), Request(99)])
    assert first.error.args[1] == second.error.args[1] == TritonError.INTERNAL
    assert first.error is not second.error
    assert "/secret" not in first.error.args[0]


def test_only_requests_that_ask_for_weights_get_them(instance: Any) -> None:
    requests = [Request(2, weights=True), Request(3), Request(1, 4, weights=True), Request(weights=True)]
    answers = instance.execute(requests)
    assert _rows(answers) == [[[2, 2]], [[3, 3]], [[1, 1], [4, 4]], []]
    assert [len(answer.output_tensors) for answer in answers] == [2, 1, 2, 2]
    found = [answers[at].list_of("token_weights") for at in (0, 2, 3)]
    assert found == [[2, 2], [1, 4, 4, 4, 4], []]


def test_an_export_without_weights_answers_a_request_for_all_outputs_without_them(instance: Any) -> None:
    """Clients of Triton that name no output ask for all."""
    instance._model.weighs = False
    (answer,) = instance.execute([Request(2, weights=True)])
    assert [tensor.name for tensor in answer.output_tensors] == ["embedding"]
