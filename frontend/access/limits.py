"""Rate limits: requests per minute of a caller at an endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from frontend.access.caller import Caller
from frontend.access.counters import Counters, Limit
from frontend.access.windows import Count
from frontend.errors import RateLimited


@dataclass(frozen=True)
class Limiter:
    """Applies rate limits; ``limits`` by name, ``tiers`` with the numbers that differ for a tier."""

    counters: Counters
    limits: Mapping[str, int]
    tiers: Mapping[str, Mapping[str, int]]

    async def take(self, caller: Caller, name: str) -> Mapping[str, str]:
        """Count a request and return its headers. Raises ``RateLimited`` (429) with the headers at a limit."""
        passed, counts = await self.counters.take(self._of(caller, name))
        if passed:
            return _headers(min(counts, key=lambda count: count.remaining))
        # In memory the counts are read afterwards, when none may be at its limit any more.
        reached = max(counts, key=lambda count: (not count.open, count.retry_after))
        message = f"rate limit exceeded ({reached.limit}/min)"
        raise RateLimited(message, headers={**_headers(reached), "Retry-After": str(reached.retry_after)})

    async def take_more(self, caller: Caller, name: str, more: int) -> Mapping[str, str]:
        """Count ``more`` requests of one that was counted and has the work of several.

        If it is more than a limit, it passes in a window without other requests.
        """
        limits = self._of(caller, name)
        widened = [Limit(max(limit.amount, more + 1), limit.key, least=more + 1) for limit in limits]
        passed, counts = await self.counters.take(widened, more)
        shown = [replace(count, limit=limit.amount) for count, limit in zip(counts, limits, strict=True)]
        if passed:
            return _headers(min(shown, key=lambda count: count.remaining))
        # The repeat is counted as one before it comes here: one more would pass then, if so many less were allowed.
        waits = [replace(count, limit=count.limit - more) for count in counts]
        place = max(range(len(waits)), key=lambda place: (not waits[place].open, waits[place].retry_after))
        message = f"rate limit exceeded ({shown[place].limit}/min); this request counts as {more + 1}"
        raise RateLimited(message, headers={**_headers(shown[place]), "Retry-After": str(waits[place].retry_after)})

    async def usage(self, caller: Caller) -> dict[str, Count]:
        """The use of each of the caller's limits; ``organisation`` is the limit that its organisation's keys share."""
        limits = {name: self._of(caller, name)[0] for name in self.limits}
        if caller.org_limit is not None:
            limits["organisation"] = self._of(caller, next(iter(self.limits)))[-1]
        _, counts = await self.counters.take([Limit(0, limit.key) for limit in limits.values()])
        read = zip(limits.items(), counts, strict=True)
        return {name: replace(count, limit=limit.amount) for (name, limit), count in read}

    def _of(self, caller: Caller, name: str) -> list[Limit]:
        """The limits of a request: the key's own, and the one that its organisation's keys share."""
        amount = caller.limits.get(name) or self.tiers.get(caller.tier, {}).get(name) or self.limits[name]
        if caller.org is None or caller.org_limit is None:
            return [Limit(amount, _counter(caller.id, name, caller.id))]
        shared = Limit(caller.org_limit, _counter(caller.org, "org", caller.org))
        return [Limit(amount, _counter(caller.org, name, caller.id)), shared]


def _counter(node: str, name: str, owner: str) -> str:
    """A counter's key. What stands in braces puts the counters of a request on one node of a cluster."""
    return f"{{{node}}}:{name}:{owner}"


def _headers(count: Count) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(count.limit),
        "X-RateLimit-Remaining": str(count.remaining),
        "X-RateLimit-Reset": str(count.reset),
    }
