"""How tests call the API and the administration."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import make_url

from frontend.config.settings import Settings
from frontend.http.runner import Runner
from tests.conftest import Client, bearer
from tests.fakes import FakeTriton
from tests.raw import post

ADMIN_KEY = "a" * 32
EMBED, SPEAK = "/v1/embeddings", "/v1/audio/speech"
# For tests with an application of their own, in a file whose tests share one.
APART = pytest.mark.asyncio(loop_scope="function")
# A case whose refusal an extension lifts.
contract_only = partial(pytest.param, marks=pytest.mark.contract_only)
# Whole requests as bytes.
EMBEDDED = post(EMBED, b'{"input": "a"}')
SPOKEN = post(SPEAK, b'{"input": "Hello there.", "voice": "ryan"}')
LONG = np.ones((1, 1, 1, 22_050 * 420), np.float32)


async def ask(admin: Client, method: str, path: str, status: int = 200, **body: Any) -> Any:
    """What a path below /admin/v1 answers."""
    sent = body if method in ("POST", "PATCH") else None
    async with admin.request(method, f"/admin/v1{path}", json=sent) as response:
        assert response.status == status, await response.text()
        return await response.json()


@contextmanager
def database_away(settings: Settings) -> Iterator[None]:
    """Within the block, the file of the database has another name."""
    path = Path(str(make_url(settings.database).database))
    aside = path.rename(path.with_name("aside.sqlite3"))
    yield
    aside.rename(path)


async def status_of(client: Client, path: str, key: str) -> int:
    """The status of an answer to ``key``."""
    async with client.get(path, headers=bearer(key)) as response:
        return response.status


async def refusal(response: Any) -> tuple[int, str | None]:
    """The status of a refusal, and the parameter that it names."""
    return response.status, (await response.json())["error"]["param"]


def speak_long(triton: FakeTriton) -> None:
    """Let every answer be seven minutes of sound, more than the kernel's buffers take."""
    triton.spoil = lambda arrays: {"output": LONG}


def runner_of(client: Client) -> Runner:
    assert isinstance(client.server.runner, Runner)
    return client.server.runner


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The log's lines of requests."""
    return [record.fields for record in caplog.records if record.message == "request"]  # type: ignore[attr-defined]
