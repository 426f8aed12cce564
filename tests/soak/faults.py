"""What happens to the parts of the product, one after another by chance, and how long it takes until all is well."""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import psutil

from tests.soak.product import Product
from tests.triton.conftest import processes

_LONGEST_SECONDS = 300.0
# Frozen and away for so long.
_AWAY_SECONDS = 10.0
_MODELS = ("m3_embedder", "m3_reranker", "whisper_turbo", "whisper_large_v3", "kokoro", "piper_ryan")
Act = Callable[[Product, random.Random], Awaitable[str]]


@dataclass(frozen=True)
class Fault:
    """``promised`` seconds after its end, an idle machine has all parts ready again.

    ``loses`` says that it may cut connections of whatever kind.
    """

    act: Act
    promised: float
    loses: bool = False


@dataclass(frozen=True)
class Window:
    """When a fault began, was taken away, and was over: all parts were ready again."""

    name: str
    detail: str
    begun: float
    ended: float
    over: float

    @property
    def recovery(self) -> float:
        return self.over - self.ended


async def _kill_frontend(product: Product, rng: random.Random) -> str:
    """The first, so that the second shows what an hour does to a process."""
    product.frontends[0].kill()
    await asyncio.sleep(2)
    await asyncio.to_thread(product.frontends[0].spawn)
    return "the first"


async def _freeze_frontend(product: Product, rng: random.Random) -> str:
    number = rng.randrange(2)
    product.frontends[number].tell(signal.SIGSTOP)
    await asyncio.sleep(_AWAY_SECONDS)
    product.frontends[number].tell(signal.SIGCONT)
    return ("the first", "the second")[number]


async def _kill_task_process(product: Product, rng: random.Random) -> str:
    if (process := product.task_process(rng)) is not None:
        process.kill()
    return ""


async def _kill_model(product: Product, rng: random.Random) -> str:
    model = rng.choice(_MODELS)
    for pid in processes(product.triton, model)[:1]:
        os.kill(pid, signal.SIGKILL)
    # A probe finds it.
    await asyncio.sleep(3)
    return model


async def _freeze_model(product: Product, rng: random.Random) -> str:
    model = rng.choice(_MODELS)
    pids = processes(product.triton, model)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(_AWAY_SECONDS)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    return model


async def _kill_triton(product: Product, rng: random.Random) -> str:
    product.signal_triton(signal.SIGKILL)
    await asyncio.sleep(2)
    return await _restart_triton(product, rng)


async def _restart_triton(product: Product, rng: random.Random) -> str:
    await asyncio.to_thread(product.triton.stop)
    await product.start_triton()
    return ""


async def _freeze_triton(product: Product, rng: random.Random) -> str:
    product.signal_triton(signal.SIGSTOP)
    await asyncio.sleep(_AWAY_SECONDS)
    product.signal_triton(signal.SIGCONT)
    return ""


async def _database_away(product: Product, rng: random.Random) -> str:
    with product.postgres.refusing(product.database):
        await asyncio.sleep(_AWAY_SECONDS)
    return ""


async def _database_frozen(product: Product, rng: random.Random) -> str:
    server: psutil.Process = product.postgres.process
    family = [server, *server.children()]
    for process in family:
        process.suspend()
    await asyncio.sleep(_AWAY_SECONDS)
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()
    return ""


async def _redis_away(product: Product, rng: random.Random) -> str:
    product.redis.kill()
    await asyncio.sleep(_AWAY_SECONDS)
    await asyncio.to_thread(product.redis.start)
    return ""


async def _redis_frozen(product: Product, rng: random.Random) -> str:
    product.redis.freeze()
    await asyncio.sleep(_AWAY_SECONDS)
    product.redis.thaw()
    return ""


async def _disk_full(product: Product, rng: random.Random) -> str:
    filler = product.disk.filler
    await asyncio.to_thread(_fill, filler)
    await asyncio.sleep(_AWAY_SECONDS)
    filler.unlink()
    return ""


def _fill(filler: "os.PathLike[str]") -> None:
    with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(65536)):
            pass


# Nobody does this to it. It is started again, as every form of deployment does.
BY_ITSELF = "Triton ended by itself"
FAULTS: Mapping[str, Fault] = {
    "a frontend is killed": Fault(_kill_frontend, 20, loses=True),
    "a frontend is frozen": Fault(_freeze_frontend, 5),
    "a task process is killed": Fault(_kill_task_process, 5),
    "a model's process is killed": Fault(_kill_model, 20),
    "a model's process is frozen": Fault(_freeze_model, 10),
    "Triton is killed": Fault(_kill_triton, 20),
    BY_ITSELF: Fault(_restart_triton, 20),
    "Triton is frozen": Fault(_freeze_triton, 10),
    "the database is away": Fault(_database_away, 5),
    "the database is frozen": Fault(_database_frozen, 5),
    "Redis is away": Fault(_redis_away, 5),
    "Redis is frozen": Fault(_redis_frozen, 5),
    "the disk is full": Fault(_disk_full, 5, loses=True),
}


class Weather:
    """Faults in an order by chance, each once before one comes again, with ``pause`` seconds between them."""

    def __init__(self, product: Product, now: Callable[[], float], pause: float, until: float, seed: int) -> None:
        """No fault begins later than the second ``until`` of the soak."""
        self._product, self._now, self._pause, self._until = product, now, pause, until
        self._rng = random.Random(seed)
        self.windows: list[Window] = []

    def stop(self) -> None:
        self._until = 0.0

    async def run(self) -> None:
        """Until its time, or ``stop``."""
        names = [name for name in FAULTS if name != BY_ITSELF]
        if not self._product.disk.is_there:
            names.remove("the disk is full")
        while True:
            for name in self._rng.sample(names, len(names)):
                await self._calm()
                if self._now() > self._until:
                    return
                await self._strike(name)

    async def _calm(self) -> None:
        end = self._now() + self._pause
        while self._now() < min(end, self._until):
            if not self._product.triton.alive():
                await self._strike(BY_ITSELF)
            await asyncio.sleep(0.5)

    async def _strike(self, name: str) -> None:
        begun = self._now()
        detail = await FAULTS[name].act(self._product, self._rng)
        ended = self._now()
        with contextlib.suppress(TimeoutError):
            if await self._until_whole():
                detail = f"{detail}, {BY_ITSELF}".removeprefix(", ")
        self.windows.append(Window(name, detail, begun, ended, self._now()))
        window = self.windows[-1]
        told = f"{name}{detail and f' ({detail})'}"
        print(f"{begun:6.0f} s  {told}: {ended - begun:.0f} s, all ready after {window.recovery:.1f} s", flush=True)

    async def _until_whole(self) -> bool:
        """Whether Triton ended by itself meanwhile. A thread asks, because a frontend may take long to answer."""
        ended = False
        async with asyncio.timeout(_LONGEST_SECONDS):
            while not await asyncio.to_thread(self._product.is_whole):
                if not self._product.triton.alive():
                    ended = True
                    await _restart_triton(self._product, self._rng)
                await asyncio.sleep(0.2)
        return ended
