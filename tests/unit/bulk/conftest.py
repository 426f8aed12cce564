"""An API, and runs of bulk work over it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from frontend.bulk import local, pace
from frontend.bulk.client import Server
from frontend.bulk.runs import Job
from tests.unit.bulk.api import KEY, Api, serving


@pytest.fixture
def api() -> Iterator[Api]:
    with serving() as served:
        yield served


@pytest.fixture(autouse=True)
def _pauses_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_LONGEST_PAUSE", 0.01)


def write_texts(path: Path, texts: Sequence[str]) -> Path:
    """A JSONL file with ids."""
    path.write_text("".join(json.dumps({"id": f"id{n}", "text": text}) + "\n" for n, text in enumerate(texts)))
    return path


def job(source: Path, output: Path, operation: str = "embed", **further: Any) -> Job:
    options = {"speak": {"voice": "amy", "response_format": "wav"}}.get(operation, {})
    return Job(operation, source, output, further.pop("column", ""), further.pop("options", options), **further)


def run(api: Api, wanted: Job, at_once: int = 4, patience: float = 5.0, key: str = KEY) -> bool:
    """Whether all came to something good."""
    return local.run(wanted, Server(api.url, key, patience), at_once, print)


def lines(path: Path) -> list[dict[str, Any]]:
    """In the order of their items."""
    found = [json.loads(line) for line in path.read_bytes().splitlines()]
    return sorted(found, key=lambda line: int(line["item"]))
