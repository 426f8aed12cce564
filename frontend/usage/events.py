"""What is written down of an answer that was paid for, or was free but counts."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class UsageEvent:
    """One answer: ``quantity`` (ms of audio, code points or tokens) at ``price`` micro-CHF a ``unit`` is ``amount``.

    ``id`` is what its request is known by, the same for a repeat. ``prepaid`` says that a wallet pays for it. ``at`` is
    in seconds since 1970. The price is kept, so that a later one changes nothing.
    """

    id: str
    request_id: str
    key_id: str
    org: str | None
    operation: str
    model: str
    quantity: int
    unit: str
    price: int
    amount: int
    prepaid: bool
    at: int

    @property
    def payer(self) -> str | None:
        """The organisation whose wallet pays."""
        return self.org if self.prepaid else None


@dataclass(frozen=True)
class Identity:
    """What a request is known by: the id that its caller gave it, its path, and a digest of all that it says."""

    request_id: str
    path: str
    content: bytes


def event_id(key_id: str, identity: Identity, model: str, quantity: int) -> str:
    """The same for the same request of a key, however often it is sent.

    A request is known by its id. What it says and the work it is are in it too, since a caller may give the same id to
    other requests.
    """
    parts = (key_id, identity.request_id, identity.path, model, str(quantity), "")
    return hashlib.sha256("\n".join(parts).encode() + identity.content).hexdigest()[:32]


def amounts(events: Iterable[UsageEvent]) -> Counter[str]:
    """What wallets pay for ``events``, by organisation."""
    sums: Counter[str] = Counter()
    for event in events:
        if event.payer is not None:
            sums[event.payer] += event.amount
    return sums
