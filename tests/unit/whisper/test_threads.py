"""How many threads a model has, by its parameter."""

import os
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tests.python_backend import load


@pytest.fixture
def module() -> ModuleType:
    return load(ROOT / "model_repository/whisper_turbo/1/threads.py", "threads")


def test_a_number_is_taken(module: ModuleType) -> None:
    assert module.threads_of("3") == 3


def test_auto_is_every_processor_of_the_process(module: ModuleType) -> None:
    assert module.threads_of("auto") == len(os.sched_getaffinity(0))
