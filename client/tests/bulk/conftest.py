"""An API, and runs of bulk work over it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from client.bulk import pace
from client.bulk.job import Job
from client.tests.bulk.api import KEY, Api, serving


@pytest.fixture
def api() -> Iterator[Api]:
    with serving() as served:
        yield served


@pytest.fixture(autouse=True)
def _pauses_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_LONGEST_PAUSE_SECONDS", 0.01)


def write_texts(path: Path, texts: Sequence[str]) -> Path:
    """A JSONL file with ids."""
    path.write_text("".join(json.dumps({"id": f"id{n}", "text": text}) + "\n" for n, text in enumerate(texts)))
    return path


def job(api: Api, source: Path, output: Path, action: str = "embed", **further: Any) -> Job:
    options = {"speak": {"voice": "amy", "response_format": "wav"}}.get(action, {})
    usual = {"options": options, "url": api.url, "key": KEY, "at_once": 4, "patience": 5.0}
    return Job(action, source, output, **{**usual, **further})


def lines(path: Path) -> list[dict[str, Any]]:
    """In the order of their items."""
    found = [json.loads(line) for line in path.read_bytes().splitlines()]
    return sorted(found, key=lambda line: int(line["item"]))
