"""Callers who each send one call after another, of a kind and a tier by chance, to both frontends."""

import asyncio
import random
import time
from dataclasses import dataclass

import aiohttp

from tests.conftest import bearer
from tests.soak.kinds import KINDS, BrokenError, Caller, LeftError
from tests.soak.product import LIMITED, PREPAID, Product

_PATIENCE_SECONDS = 330.0
_KEYS = {"company": 2, "pro": 2, "free": 3, "bulk": 1, PREPAID: 2}


@dataclass(frozen=True)
class Answer:
    """A call from ``begun`` to ``ended``, in seconds of the soak.

    ``fate`` is "whole", "left" (by its caller), "lost" (the connection or a part), or "late" (no answer at all).
    """

    kind: str
    tier: str
    frontend: int
    id: str
    begun: float
    ended: float
    status: int
    retry_after: str
    fate: str
    owes: dict[str, int]
    may_owe: set[str]

    @property
    def seconds(self) -> float:
        return self.ended - self.begun


class Traffic:
    """``answers`` has every call that ended."""

    def __init__(self, product: Product, callers: int, pause: float, seed: int) -> None:
        self._product, self._count, self._pause = product, callers, pause
        self._rng, self._began, self._stopped = random.Random(seed), time.monotonic(), False
        self._weights = [weight for _, weight, _ in KINDS.values()]
        self.answers: list[Answer] = []

    def now(self) -> float:
        return time.monotonic() - self._began

    async def run(self) -> None:
        """Until ``stop``; each call that has begun is waited for."""
        timeout = aiohttp.ClientTimeout(total=_PATIENCE_SECONDS)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
            await asyncio.gather(*(self._call_on(session) for _ in range(self._count)))

    def stop(self) -> None:
        self._stopped = True

    async def _call_on(self, session: aiohttp.ClientSession) -> None:
        while not self._stopped:
            await self._call(session)
            await asyncio.sleep(self._rng.expovariate(1 / self._pause))

    def _key(self, kind: str) -> tuple[str, str]:
        """The name of a key that fits, and the key."""
        if kind.startswith("mobile"):
            return "mobile", self._product.mobile
        if kind == "a key at its limit":
            return LIMITED, self._product.keys[LIMITED]
        tier = self._rng.choices(list(_KEYS), list(_KEYS.values()))[0]
        return tier, self._product.keys[tier]

    async def _call(self, session: aiohttp.ClientSession) -> None:
        (kind,) = self._rng.choices(list(KINDS), self._weights)
        (tier, key), number = self._key(kind), self._rng.randrange(2)
        name = f"soak-{self._rng.getrandbits(64):016x}"
        headers = {**bearer(key), "X-Request-Id": name}
        caller = Caller(session, self._product.frontends[number].url, headers, random.Random(self._rng.random()))
        begun, fate = self.now(), "whole"
        try:
            await KINDS[kind][0](caller)
        except LeftError:
            fate = "left"
            caller.may_owe.add(name)
        except aiohttp.WSServerHandshakeError as refused:
            caller.status = refused.status
            caller.retry_after = refused.headers.get("Retry-After", "") if refused.headers else ""
        except TimeoutError:
            fate = "late"
            caller.may_owe.add(name)
        except (BrokenError, aiohttp.ClientError, OSError):
            fate = "lost"
        own = (caller.status, caller.retry_after, fate, caller.owes, caller.may_owe)
        self.answers.append(Answer(kind, tier, number + 1, name, begun, self.now(), *own))
