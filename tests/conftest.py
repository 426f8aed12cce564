"""Shared set-up: a clean environment, the application with a fake Triton, and the whole product with a real one."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from frontend.app import create_app
from frontend.config import PREFIX, Settings
from frontend.server import Runner
from scripts.local_triton.checks import free_port
from scripts.run import Stack
from tests.fakes import FakeTriton

ROOT = Path(__file__).parents[1]
KEY = "test-key"

Client = TestClient[Request, Application]


class ProductServer(TestServer):
    """aiohttp's test server over the product's own runner, so that tests meet its connections and limits."""

    def __init__(self, app: Application, settings: Settings) -> None:
        super().__init__(app)
        self._settings = settings

    async def _make_runner(self, **kwargs: Any) -> Runner:
        return Runner(self.app, self._settings)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(PREFIX):
            monkeypatch.delenv(name)


@pytest.fixture
def settings() -> Settings:
    return Settings(model_repository=ROOT / "model_repository", api_key=KEY, audio_workers=1)


@pytest.fixture
def triton() -> FakeTriton:
    return FakeTriton()


@pytest.fixture
async def client(settings: Settings, triton: FakeTriton) -> AsyncIterator[Client]:
    """The application over HTTP, with the right key in every request."""
    app = create_app(settings, connect=lambda address, deadline: triton)
    async with TestClient(ProductServer(app, settings), headers={"Authorization": f"Bearer {KEY}"}) as connected:
        yield connected


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Triton with the demo models and the frontend, as 'make run' starts them."""
    running = Stack(free_port())
    try:
        running.start()
        yield running
    finally:
        running.stop()
