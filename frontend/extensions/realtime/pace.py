"""A pace that work of one source may have."""

import asyncio


class Pace:
    """``a_second`` may come in the long run, and ``ahead`` more at the beginning or after a pause."""

    def __init__(self, a_second: float, ahead: float) -> None:
        self._a_second, self._ahead, self._until = a_second, ahead / a_second, 0.0

    def wait(self, amount: float) -> float:
        """Count an amount; return the seconds to wait, which are negative for one that is not too early."""
        now = asyncio.get_running_loop().time()
        self._until = max(now, self._until) + amount / self._a_second
        return self._until - now - self._ahead
