"""Whose bytes are parsed next: a little of each connection, and those first who have had the least."""

import asyncio
import itertools
import time
from heapq import heappop, heappush
from typing import Protocol

# In a turn of the event loop, all connections are parsed for so long; what reads them then takes as long again.
_TURN_SECONDS = 0.002


class Feeds(Protocol):
    """A connection; ``fed_seconds`` is the time that the parser has had for its request under way."""

    fed_seconds: float

    def feed(self) -> bool:
        """Parse a piece of what has come; whether there is another."""
        ...


class Feeder:
    """Has connections parse what has come, for a few milliseconds in each turn of the event loop.

    The request that has been parsed for the shortest time so far goes first, so that those who send what takes long to
    parse stand before nobody, however many they are (least attained service: Nuyens and Wierman, Performance
    Evaluation 65, 2008).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[tuple[float, int, Feeds]] = []
        self._order = itertools.count()
        self._left = _TURN_SECONDS
        self._turn_soon = False

    def add(self, connection: Feeds, *, later: bool = False) -> None:
        """A connection has something to parse: now, where there is time left and nobody waits, or ``later``.

        Whoever reads a body must wait for its next piece, or it would go on without ever giving the loop back.
        """
        if self._left > 0 and not self._waiting and not later:
            self._feed(connection)
        else:
            self._wait(connection)
        if not self._turn_soon:
            self._turn_soon = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._left = _TURN_SECONDS
        while self._waiting and self._left > 0:
            self._feed(heappop(self._waiting)[2])
        self._turn_soon = bool(self._waiting)
        if self._turn_soon:
            self._loop.call_soon(self._turn)

    def _feed(self, connection: Feeds) -> None:
        began = time.perf_counter()
        more = connection.feed()
        spent = time.perf_counter() - began
        self._left -= spent
        connection.fed_seconds += spent
        if more:
            self._wait(connection)

    def _wait(self, connection: Feeds) -> None:
        heappush(self._waiting, (connection.fed_seconds, next(self._order), connection))
