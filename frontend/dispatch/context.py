"""The request context: key, tier and deadline of a request."""

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass


@dataclass
class RequestContext:
    """``priority`` is 1 (company) to 4 (bulk); ``deadline`` is in event loop seconds.

    ``owner`` is the key or organisation that may have a floor. Within a key, the lowest ``rank`` goes first, then the
    earliest ``due``, in event loop seconds (default: when the call enters the queue). ``follows`` is the work that
    enters the queue when the call has ended.
    """

    key: Hashable
    priority: int
    owner: str | None
    deadline: float
    rank: int = 0
    due: float | None = None
    follows: float = 0.0

    def restart(self, seconds: float) -> None:
        """Set the deadline to ``seconds`` from now."""
        self.deadline = asyncio.get_running_loop().time() + seconds

    def extend(self, seconds: float) -> None:
        self.deadline += seconds

    def remaining(self) -> float:
        """Seconds until the deadline, at least 1 ms."""
        return max(0.001, self.deadline - asyncio.get_running_loop().time())
