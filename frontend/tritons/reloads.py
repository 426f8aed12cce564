"""Reloads of models whose process died, with growing pauses, by one frontend at a time."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from frontend.concurrency.background import cancel_all, start_detached
from frontend.errors import BadGateway, Unreached
from frontend.observe.logs import log
from frontend.observe.metrics import MODEL_RELOADS
from frontend.processes.pauses import Pauses
from frontend.tritons.inference import InferenceServer
from frontend.tritons.metrics import pool_of

# The pause between checks whether another frontend has loaded the model.
_LOOK_SECONDS = 1.0
# How long ``close`` waits, so that a model just unloaded is loaded again.
_GAP_SECONDS = 1.0
# Takes ``backend/model``; yields whether this frontend may load the model within the block.
Lock = Callable[[str], AbstractAsyncContextManager[bool]]


class Reloads:
    """The reloads in progress of the backend ``name``."""

    def __init__(self, name: str, server: InferenceServer, lock: Lock) -> None:
        self._name, self._server, self._lock = name, server, lock
        self._pauses: defaultdict[str, Pauses] = defaultdict(Pauses)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __contains__(self, model: str) -> bool:
        return model in self._tasks

    def begin(self, model: str) -> None:
        """Start to reload a model, unless that is in progress."""
        if model not in self._tasks:
            self._tasks[model] = start_detached(self._reload_until_it_works(model))

    async def close(self) -> None:
        """Stop, but leave no model unloaded."""
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=_GAP_SECONDS)
            await cancel_all(tasks)

    async def _reload_until_it_works(self, model: str) -> None:
        try:
            while True:
                if await self._reload_if_dead(model):
                    return
                await asyncio.sleep(_LOOK_SECONDS)
        except Unreached:
            # A server that comes back has loaded its models itself.
            return
        finally:
            del self._tasks[model]

    async def _reload_if_dead(self, model: str) -> bool:
        """Reload the model if it is dead and this frontend has the lock; return whether it works."""
        async with self._lock(f"{self._name}/{model}") as is_ours:
            try:
                if not is_ours:
                    return False
                if model in await self._server.broken_models([model]):
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
