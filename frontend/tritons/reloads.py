"""Models that died are loaded anew: again and again after growing pauses, and by one frontend at a time."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from frontend.errors import BadGateway, Unreached
from frontend.observe.logs import log
from frontend.observe.metrics import MODEL_RELOADS
from frontend.processes.background import cancel_all, start_apart
from frontend.processes.pauses import Pauses
from frontend.tritons.shown import pool_of

# How often a frontend looks whether another one has loaded the model.
_LOOK_SECONDS = 1.0
# What has been unloaded a moment ago is loaded again, also when this frontend ends.
_GAP_SECONDS = 1.0


# By the name of a model on a server: whether this frontend may load it, for as long as the block takes.
Lock = Callable[[str], AbstractAsyncContextManager[bool]]


class Reloadable(Protocol):
    """A server whose models can be loaded anew; raises ``Unreached`` where it is away, ``BadGateway`` if it fails."""

    async def ailing(self, models: Sequence[str]) -> set[str]:
        """Those of ``models`` whose process has died or whose last load has failed."""

    async def reload(self, model: str) -> None:
        """Unload a model and load it again."""


class Reloads:
    """The models of the server ``name`` that are being loaded anew."""

    def __init__(self, name: str, server: Reloadable, lock: Lock) -> None:
        self._name, self._server, self._lock = name, server, lock
        self._pauses: defaultdict[str, Pauses] = defaultdict(Pauses)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __contains__(self, model: str) -> bool:
        return model in self._tasks

    def begin(self, model: str) -> None:
        """See to it that a model is well again, unless that goes on already."""
        if model not in self._tasks:
            self._tasks[model] = start_apart(self._until_well(model))

    async def close(self) -> None:
        """Leave no model unloaded, and wait for none to be loaded."""
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=_GAP_SECONDS)
            await cancel_all(tasks)

    async def _until_well(self, model: str) -> None:
        try:
            while True:
                if await self._is_well(model):
                    return
                await asyncio.sleep(_LOOK_SECONDS)
        except Unreached:
            # A server that comes back has loaded its models itself.
            return
        finally:
            del self._tasks[model]

    async def _is_well(self, model: str) -> bool:
        """Look, and load it anew if it is not well and nobody else does so."""
        async with self._lock(f"{self._name}/{model}") as mine:
            try:
                if not mine:
                    return False
                if model in await self._server.ailing([model]):
                    await self._reload(model)
                return True
            except Unreached:
                raise
            except BadGateway as error:
                fields = {"backend": self._name, "model": model, "details": str(error.__cause__ or error)}
                log.error("a model could not be loaded", extra={"fields": fields})
                return False

    async def _reload(self, model: str) -> None:
        await asyncio.sleep(self._pauses[model].next(asyncio.get_running_loop().time()))
        log.error("a model is loaded anew", extra={"fields": {"backend": self._name, "model": model}})
        outcome = "failed"
        try:
            await self._server.reload(model)
            outcome = "loaded"
        finally:
            MODEL_RELOADS.labels(pool_of(self._name), model, outcome).inc()
