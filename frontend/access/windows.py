"""The sliding window counter: this minute's count, plus the share of the last one's that is still inside.

Cloudflare's approximation of a sliding window (https://blog.cloudflare.com/counting-things-a-lot-of-different-things),
in whole microseconds. It behaves like a bucket of N that fills at N a minute.
"""

from dataclasses import dataclass

from frontend.access.storages import Window

WINDOW_US = 60_000_000
_MOST_SECONDS = 60
# More than the error of a time since 1970 in floating-point seconds.
_MARGIN_US = 2


@dataclass(frozen=True)
class Count:
    """A counter of ``limit`` requests a minute, ``elapsed_us`` (from 1 on) into the minute."""

    limit: int
    previous: int
    current: int
    elapsed_us: int

    @classmethod
    def of(cls, limit: int, window: Window) -> "Count":
        """The counter of a limit from its window in the library."""
        previous, _, current, left_seconds = window
        # The library counts in floating-point seconds: so that the waits are never too short, it is a little earlier.
        elapsed_us = 2 * WINDOW_US - round(left_seconds * 1_000_000) - _MARGIN_US
        return cls(limit, previous, current, min(max(1, elapsed_us), WINDOW_US))

    @property
    def used(self) -> int:
        """Requests in the window, rounded down."""
        return self.previous * (WINDOW_US - self.elapsed_us) // WINDOW_US + self.current

    @property
    def open(self) -> bool:
        """Whether one more request passes."""
        return self.used < self.limit

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.used)

    @property
    def retry_after(self) -> int:
        """Whole seconds, from 1 to 60, after which one request surely passes if no other comes first."""
        if self.open:
            return 1
        if self.current >= self.limit:
            wait = WINDOW_US - self.elapsed_us + WINDOW_US * (self.current - self.limit) // self.current
        else:
            wait = WINDOW_US - WINDOW_US * (self.limit - self.current) // self.previous - self.elapsed_us
        return min(_MOST_SECONDS, max(1, wait // 1_000_000 + 1))

    @property
    def reset(self) -> int:
        """Whole seconds until all counted requests have left the window; at the limit, until one more passes."""
        if not self.open:
            return self.retry_after
        left = WINDOW_US - self.elapsed_us + (WINDOW_US if self.current else 0)
        return -(-left // 1_000_000) if self.used else 0
