"""Frontends share Tritons: what each may send, and who reloads a dead model.

Without Redis, the number of frontends is a setting, and each waits for a random time before a reload.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

# Frontends stagger their reloads by up to this many seconds.
_STAGGER_SECONDS = 2.0

# The content of a heartbeat: the work of an execution by model in use (not for bulk); 0 if it was not measured.
Snapshot = Mapping[str, float]


@dataclass(frozen=True)
class Share:
    """``fraction`` of a model's bound, from 0 to 1, is this frontend's; with 0, one call may be in flight.

    It is frontend ``number`` (from 0) of ``count``. ``is_used_elsewhere``: others have calls other than bulk work.
    ``batch`` is the batch work that another frontend measured, if any.
    """

    fraction: float = 1.0
    number: int = 0
    count: int = 1
    is_used_elsewhere: bool = False
    batch: float | None = None


class Frontends(Protocol):
    """The frontends of the same Tritons, this one included."""

    def share_of(self, model: str) -> Share:
        """This frontend's share of a model."""

    def lock(self, name: str) -> AbstractAsyncContextManager[bool]:
        """Wait for one's turn to reload, and yield whether this frontend does."""

    async def start(self) -> None: ...


class FixedFrontends:
    """A fixed number of frontends with equal shares."""

    def __init__(self, count: int) -> None:
        self._count = count
        # Numbers are random, because no frontend knows the others.
        self._number = random.randrange(count)

    def share_of(self, model: str) -> Share:
        """An equal share."""
        return Share(1 / self._count, self._number, self._count)

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[bool]:
        """Wait for a random time if there are other frontends, then yield True."""
        if self._count > 1:
            await asyncio.sleep(random.random() * _STAGGER_SECONDS)
        yield True

    async def start(self) -> None:
        """Do nothing."""
