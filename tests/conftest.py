"""Shared set-up: a clean environment, the application with a fake Triton, and the whole product with a real one."""

import dataclasses
import functools
import gc
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from aiohttp import web_app
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from frontend.access import api_key
from frontend.access.jwt import Tokens
from frontend.app import create_app
from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.models import PRICES, Added
from frontend.catalogue.voices import exported_voices
from frontend.commands.database import with_database
from frontend.config.proxies import exclude_this_machine
from frontend.config.reading import CONFIG_FILE, PREFIX
from frontend.config.settings import Settings
from frontend.http.runner import Runner
from frontend.text import tokens
from scripts.local_triton.checks import free_port
from tests.clocks import LimitsClock
from tests.databases import PostgresServer
from tests.fakes import FakeTriton, add_key
from tests.loop_watch import REPORTS, reports, watch_this_process
from tests.own_models import ARE_BESIDE, beside_own
from tests.redis import RedisServer

if TYPE_CHECKING:
    from scripts.run.stack import Stack

# Everything that tests call is on this machine.
exclude_this_machine(os.environ)
# Tests and the processes that they start see no GPU.
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
# Machines are noisy, so examples have no time limit.
hypothesis.settings.register_profile("quartet", deadline=None)
hypothesis.settings.load_profile("quartet")
ROOT = Path(__file__).parents[1]
KEY = api_key.new_key()
JWT_SECRET = "s" * 32
# What is switched on in applications whose tests do not choose: the contract holds beside every extension.
EXTENSIONS = os.environ.get("TEST_EXTENSIONS", "")

Client = TestClient[Request, Application]

# What held an event loop since the last look: of this process, and of those that it starts.
_held: list[str] = []
_reports = tempfile.TemporaryDirectory(prefix="loops-")
os.environ[REPORTS] = _reports.name
watch_this_process(_held.append)
# Each application would read and hash 19 MB of tokenizers, which takes longer than the rest of its start.
tokens._read = functools.cache(tokens._read)


class ProductServer(TestServer):
    """aiohttp's test server over the product's own runner, so that tests use its connections and limits."""

    def __init__(self, app: Application, settings: Settings) -> None:
        super().__init__(app)
        self._settings = settings

    async def _make_runner(self, **kwargs: Any) -> Runner:
        return Runner(self.app, self._settings)


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name tests without their keys, which differ between the processes of a run."""
    return argname if isinstance(val, str) and KEY in val else None


def _taken() -> list[str]:
    """What was found since the last call."""
    found = [*_held, *reports(Path(_reports.name))]
    _held.clear()
    return found


@pytest.hookimpl(wrapper=True)
def _phase(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a part of a test in which the product held an event loop."""
    try:
        yield
    except BaseException as error:
        for text in _taken():
            error.add_note(text)
        raise
    if found := _taken():
        pytest.fail("\n".join(found), pytrace=False)


pytest_runtest_setup = pytest_runtest_call = pytest_runtest_teardown = _phase


@pytest.fixture(scope="module", autouse=True)
def _freeze_objects() -> None:
    """Let garbage collection look at what the tests of this file make, as the product does: it holds event loops."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in list(os.environ):
        if name.startswith(PREFIX):
            monkeypatch.delenv(name)
    yield
    # Some tests call commands, which silence the logs of libraries.
    logging.disable(logging.NOTSET)
    # aiohttp would keep the last sixty applications, of 10 MB each.
    web_app._cached_build_middleware.cache_clear()


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with this version's tables and ``KEY``; tests use copies."""
    path = tmp_path_factory.mktemp("database") / "quartet.sqlite3"
    with_database(Settings(database=f"sqlite:///{path}"), lambda engine: add_key(engine, KEY))
    return path


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgres"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without tables, once SQLite and once Postgres."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/empty.sqlite3"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.emptied()


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def limits_clock() -> Iterator[LimitsClock]:
    """A clock for rate limits; request it before the application, which reads the clock at its start."""
    clock = LimitsClock()
    yield clock
    clock.close()


def settings_in(folder: Path, **values: Any) -> Settings:
    """Settings of an application whose database and charges are in ``folder``."""
    usual = {"extensions": EXTENSIONS, **_models(folder)}
    return Settings(
        database=f"sqlite:///{folder}/quartet.sqlite3",
        usage_folder=folder / "usage",
        audio_workers=1,
        jwt_secret=JWT_SECRET,
        limits=dict.fromkeys(LIMITS, 1_000_000),
        **usual | values,
    )


def _models(folder: Path) -> dict[str, Any]:
    """The settings of the demo's models, and of the models beside them."""
    exported = ROOT / "model_repository"
    voices = exported_voices(exported)
    if not ARE_BESIDE:
        return {"model_repository": exported, "added": Added(voices)}
    repository = folder / "own_models"
    repository.mkdir()
    added = beside_own(exported, voices, repository)
    prices = {**PRICES, **{model.id: model.price for model in added.models}}
    return {"model_repository": repository, "added": added, "prices": prices}


@pytest.fixture
def settings(database: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    """Settings of the test's own application, with the values of the test's ``settings`` marks."""
    shutil.copy(database, tmp_path / "quartet.sqlite3")
    marks = reversed(list(request.node.iter_markers("settings")))
    values = {name: value for mark in marks for name, value in mark.kwargs.items()}
    return dataclasses.replace(settings_in(tmp_path), **values)


def bearer(key: str) -> dict[str, str]:
    """The header of a request with an API key or a token."""
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def mobile(settings: Settings) -> dict[str, str]:
    """The header of a mobile token."""
    return bearer(Tokens(settings.jwt_audience, settings.jwt_issuer, JWT_SECRET).issue("phone-1", 600))


@pytest.fixture
def triton() -> FakeTriton:
    return FakeTriton()


def running(settings: Settings, triton: FakeTriton, key: str = KEY) -> Client:
    """A context manager: the application over HTTP, with ``key`` in every request."""
    app = create_app(settings, connect=lambda address: triton)
    return TestClient(ProductServer(app, settings), headers=bearer(key))


@pytest.fixture
async def client(settings: Settings, triton: FakeTriton) -> AsyncIterator[Client]:
    async with running(settings, triton) as connected:
        yield connected


def product_settings(folder: Path) -> dict[str, str]:
    """The environment of a product that keeps its state in a folder, with limits that no test reaches."""
    limits = "\n".join(f"{name} = 1_000_000" for name in LIMITS)
    # Clients of other rerank servers call it, too, and LangChain with its own settings.
    values = (
        'extensions = "rerank_dialects, large_batches, token_arrays"\nwrong_keys_a_minute = 0\nunpaid_seconds = 1000'
    )
    text = f"{values}\n[limits]\n{limits}\n"
    (folder / "quartet.toml").write_text(text, encoding="utf-8")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(PREFIX)},
        CONFIG_FILE: str(folder / "quartet.toml"),
        f"{PREFIX}DATABASE": f"sqlite:///{folder}/quartet.sqlite3",
        f"{PREFIX}USAGE_FOLDER": str(folder / "usage"),
    }


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Stack"]:
    """Triton with the demo models and the frontend, as 'make run' starts them."""
    from scripts.run.stack import Stack

    environ = product_settings(tmp_path_factory.mktemp("stack"))
    running = Stack(free_port(), environ)
    try:
        running.start()
        yield running
    finally:
        running.stop()
