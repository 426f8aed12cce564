"""The product under soak: Triton with the demo's models, two frontends, Postgres, Redis, a chat server and a disk."""

import asyncio
import os
import random
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import psutil

from frontend.access import api_key
from frontend.access.jwt import Tokens
from frontend.administration.registry import Registry
from frontend.administration.usage.queries import UsageQueries
from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.models import Added
from frontend.catalogue.voices import exported_voices
from frontend.config.reading import CONFIG_FILE
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from scripts.local_triton.server import LocalTriton
from scripts.run import fit
from scripts.run.state import REPOSITORY, models_kept
from tests.conftest import JWT_SECRET
from tests.databases import PostgresServer
from tests.eventually import until
from tests.fakes import add_key
from tests.faults.served import FRONTEND, Served
from tests.frontends import named
from tests.redis import RedisServer
from tests.upstream import KEY, Upstream

TIERS = ("company", "pro", "free", "bulk")
# A key with a wallet, and one whose limit is reached.
PREPAID, LIMITED = "prepaid", "limited"
ORG, TOP_UP = "acme", 10**12
# Micro-CHF of a token.
PRICES = {"embed-m3": 3, "rerank-v2-m3": 7, "chat": 1}
_DISK = "64m"
_INSTANCE = re.compile(r"[a-z0-9_]+_0_\d+")
_ROOM = ("unshare", "--mount") if os.getuid() == 0 else ("unshare", "--map-root-user", "--mount")
_ENTER = ("--mount",) if os.getuid() == 0 else ("--user", "--mount", "--preserve-credentials")


class Disk:
    """A file system of 64 MB over ``folder``, which only frontends that it starts see; ``room`` is their prefix."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        script = f'mount -t tmpfs -o size={_DISK} none "$0" && echo mounted && exec sleep infinity'
        command = [*_ROOM, "sh", "-c", script, str(folder)]
        self._holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._holder.stdout is not None
        self.is_there = self._holder.stdout.readline() == "mounted\n"
        target = ("nsenter", "--target", str(self._holder.pid), *_ENTER, f"--wd={Path.cwd()}")
        self.room = target if self.is_there else ()
        self.filler = Path(f"/proc/{self._holder.pid}/root{folder}/other")

    def close(self) -> None:
        self._holder.kill()
        self._holder.wait()


class Product:
    """``keys`` has the keys by tier and purpose, ``mobile`` a token; all files are in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = {name: api_key.new_key() for name in (*TIERS, PREPAID, LIMITED)}
        self.mobile = Tokens("quartet-mobile", "quartet", JWT_SECRET).issue("phone-1", 86_400)
        self.frontends: list[Served] = []
        self._closing = AsyncExitStack()

    async def start(self) -> None:
        (self.folder / "redis").mkdir(parents=True)
        self.disk = Disk(self.folder / "disk")
        self._closing.callback(self.disk.close)
        self.postgres = await asyncio.to_thread(PostgresServer)
        self._closing.callback(self.postgres.stop)
        self.database = self.postgres.new_database()
        await self._fill_database()
        self.redis = RedisServer(self.folder / "redis")
        self.redis.start()
        self._closing.callback(self.redis.kill)
        upstream = Upstream()
        await upstream.server.start_server()
        self._closing.push_async_callback(upstream.server.close)
        self._closing.enter_context(models_kept())
        fitted = fit.of_this_machine(os.environ, Added(exported_voices(REPOSITORY)))
        fitted.write(REPOSITORY)
        self.triton = LocalTriton(REPOSITORY, self.folder / "triton", config_name=fit.CONFIG_NAME)
        self._closing.callback(self._stop_triton)
        await self.start_triton()
        its = named(**{name.upper(): value for name, value in fitted.settings().items()})
        environ = {**its, **self._settings(upstream.address)}
        for number in (1, 2):
            own = named(USAGE_FOLDER=self.folder / "disk" / str(number))
            served = Served({**environ, **own}, self.folder / f"frontend-{number}.log", FRONTEND, within=self.disk.room)
            self.frontends.append(served)
            self._closing.callback(served.kill)
            await served.start()
        await until(self.is_whole, 120)

    def _settings(self, upstream: str) -> dict[str, str]:
        limits = "\n".join(f"{name} = 1_000_000" for name in LIMITS)
        prices = "\n".join(f"[prices.{model}]\nmillion_tokens = {price}" for model, price in PRICES.items())
        (self.folder / "quartet.toml").write_text(f"[limits]\n{limits}\n{prices}\n", encoding="utf-8")
        own = named(
            DATABASE=self.database,
            REDIS=self.redis.url,
            TRITON=f"127.0.0.1:{self.triton.ports.grpc}",
            TRITON_SECRET=self.triton.secret,
            READY_MODELS="all",
            JWT_SECRET=JWT_SECRET,
            EXTENSIONS="all",
            CHAT_UPSTREAM=upstream,
            CHAT_UPSTREAM_KEY=KEY,
            WRONG_KEYS_A_MINUTE=0,
            # Damaged files and silence are most of what some keys send.
            UNPAID_SECONDS=100_000,
        )
        return {CONFIG_FILE: str(self.folder / "quartet.toml"), **own}

    async def _fill_database(self) -> None:
        engine = open_engine(self.database)
        await migrate(engine)
        await Registry(engine).create_org(ORG, None)
        for name, key in self.keys.items():
            own = {"tier": name if name in TIERS else "pro", "org": ORG if name == PREPAID else None}
            limits = {"limits": {"embeddings": 5}} if name == LIMITED else {}
            await add_key(engine, key, name=name, **own, **limits)
        await UsageQueries(engine).top_up(ORG, TOP_UP, None)
        await engine.dispose()

    async def start_triton(self) -> None:
        names = Settings(model_repository=REPOSITORY, added=Added(exported_voices(REPOSITORY))).served.triton_models
        await asyncio.to_thread(self.triton.start)
        await asyncio.to_thread(self.triton.load, names)

    def _stop_triton(self) -> None:
        self.signal_triton(signal.SIGKILL)
        self.triton.stop()

    def signal_triton(self, number: signal.Signals) -> None:
        """Send a signal to Triton with the processes of its models."""
        if self.triton.alive():
            assert self.triton._process is not None
            os.killpg(self.triton._process.pid, number)

    def processes(self) -> dict[str, psutil.Process]:
        """All processes that run now, by what they are and their number."""
        roots = {f"frontend {n}": each.process for n, each in enumerate(self.frontends, 1)}
        found: dict[str, psutil.Process] = {}
        for name, root in {**roots, "Triton": self.triton._process}.items():
            if root is None or root.poll() is not None:
                continue
            # Some may end meanwhile.
            with suppress(psutil.Error):
                found[name] = psutil.Process(root.pid)
                for child in found[name].children(recursive=True):
                    found[f"{name}: {_of(child)} {child.pid}"] = child
        return found

    def task_process(self, rng: random.Random) -> psutil.Process | None:
        """A process of a frontend that decodes audio or reads texts."""
        leaves = []
        for each in self.frontends:
            if each.process is not None and each.process.poll() is None:
                with suppress(psutil.Error):
                    children = psutil.Process(each.process.pid).children(recursive=True)
                    leaves += [child for child in children if child.ppid() != each.process.pid]
        return rng.choice(leaves) if leaves else None

    def is_whole(self) -> bool:
        """Whether both frontends are ready, with every model."""
        looks = [each.look() for each in self.frontends]
        return all(look is not None and look.status == 200 and is_complete(look.body) for look in looks)

    async def close(self) -> None:
        await self._closing.aclose()


def is_complete(body: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether readiness names only models that are ready."""
    return set(body["models"].values()) == {"ready"}


def _of(process: psutil.Process) -> str:
    """The model of a process of Triton, or that it is some other process."""
    with suppress(psutil.Error):
        return next((word.rsplit("_0_", 1)[0] for word in process.cmdline() if _INSTANCE.fullmatch(word)), "process")
    return "process"
