"""Whispers that tests of several folders read and do not change: each is made once."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whisper base in int8, as OpenVINO's graphs."""
    # Most tests here need no library of models.
    from scripts.export_models.whisper import convert
    from tests.checkpoints import whisper_base

    folder = tmp_path_factory.mktemp("whisper") / "int8"
    convert(whisper_base(), folder, "int8", graphs=True)
    return folder


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights, whose comparisons take a tenth of the time."""
    from tests import lookalikes

    folder = tmp_path_factory.mktemp("small") / "checkpoint"
    lookalikes.whisper(folder)
    return folder


@pytest.fixture(scope="session")
def small_exported(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in int8, as OpenVINO's graphs."""
    from scripts.export_models.whisper import convert

    folder = tmp_path_factory.mktemp("small") / "int8"
    convert(small, folder, "int8", graphs=True)
    return folder
