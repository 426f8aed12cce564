"""The sliding window counter: this minute's count, plus the share of the last one's that is still inside.

Cloudflare's approximation of a sliding window (https://blog.cloudflare.com/counting-things-a-lot-of-different-things),
in whole microseconds. It behaves like a bucket of N that fills at N a minute.
"""

from dataclasses import dataclass

WINDOW_US = 60_000_000
_MOST_SECONDS = 60


@dataclass(frozen=True)
class Count:
    """A counter of ``limit`` requests a minute, ``elapsed_us`` (from 1 on) into the minute."""

    limit: int
    previous: int
    current: int
    elapsed_us: int

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

    def plus_one(self) -> "Count":
        return Count(self.limit, self.previous, self.current + 1, self.elapsed_us)
