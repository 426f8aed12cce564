"""A clean environment, in which this machine is asked without a proxy."""

import os
from pathlib import Path

import pytest

from frontend.config.proxies import exclude_this_machine

ROOT = Path(__file__).parents[2]
exclude_this_machine(os.environ)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("QUARTET_"):
            monkeypatch.delenv(name)
