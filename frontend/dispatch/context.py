"""What the queues know of the request that a call belongs to."""

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass


@dataclass
class RequestContext:
    """A request of a ``key``, of ``priority`` 1 (company) to 4 (bulk); ``deadline`` is in the event loop's time.

    ``owner`` is the key or organisation that may have a floor. Of a key's calls those of the lowest ``rank`` go first.
    """

    key: Hashable
    priority: int
    owner: str | None
    deadline: float
    rank: int = 0

    def restart(self, seconds: float) -> None:
        """Move the deadline to so many seconds from now."""
        self.deadline = asyncio.get_running_loop().time() + seconds

    def extend(self, seconds: float) -> None:
        """Move the deadline by so many seconds."""
        self.deadline += seconds

    def remaining(self) -> float:
        """Seconds until the deadline, at least a moment."""
        return max(0.001, self.deadline - asyncio.get_running_loop().time())
