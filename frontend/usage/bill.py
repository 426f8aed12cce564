"""What a request costs: reserved before its work, charged as its answer goes out, else let go."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from frontend.access.caller import Caller
from frontend.catalogue.prices import Price
from frontend.dispatch.context import RequestContext
from frontend.errors import BadGateway
from frontend.observe.record import current
from frontend.usage.recorder import Recorder
from frontend.usage.spool import UsageEvent


class UnchargedError(RuntimeError):
    """An answer that has a price would go out without being charged: a fault of ours."""


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


@dataclass(eq=False)
class Billing:
    """Of one request, which has one bill at most; ``context`` says until when the database is waited for.

    ``identity`` tells what the request is known by, once its body has arrived. At its end, what is not charged is let
    go.
    """

    recorder: Recorder
    prices: Mapping[str, Price]
    caller: Caller
    context: RequestContext
    identity: Callable[[], Identity]
    # Whether an answer was begun, which is too late for anything that has a price.
    answering: bool = False
    _bill: "Bill | None" = None

    def __enter__(self) -> "Billing":
        return self

    def __exit__(self, *error: object) -> None:
        if self._bill is not None:
            self._bill.let_go()

    def reserve(self, model: str, quantity: int) -> "Bill":
        """To be entered before the work; ``BadGateway`` where what it costs could not be written down in the end."""
        if self.answering or self._bill is not None:
            raise UnchargedError
        if not self.recorder.can_charge:
            raise BadGateway("usage cannot be recorded for the moment, retry with backoff")
        self._bill = Bill(self, model, self.prices[model], quantity)
        return self._bill

    def answer_begins(self, status: int, *, is_charged: bool) -> None:
        """The first byte goes out; ``is_charged`` tells whether it will be charged for."""
        self.answering = True
        if not is_charged:
            self.refuse_free(status)

    def refuse_free(self, status: int) -> None:
        """``UnchargedError`` where an answer would be free for which work was begun; only a failure is."""
        if status < 400 and self._bill is not None and not self._bill.charged:
            raise UnchargedError


class Bill:
    """For ``quantity`` ms of audio, code points or tokens of a model.

    ``async with`` is for the work: money is taken from the wallet before it, and let go at once where it fails.
    Otherwise the bill stays open until the answer goes out.
    """

    def __init__(self, billing: Billing, model: str, price: Price, quantity: int) -> None:
        self._billing, self._payer = billing, billing.caller.payer
        self._model, self._price = model, price
        # What is known before the work is the same whenever a request is repeated.
        self._known_by = self._quantity = quantity
        current().model, current().quantity = model, quantity
        self._reserved, self._reservation = price.amount(quantity), ""
        self._open = False
        self.charged = False

    async def __aenter__(self) -> "Bill":
        """``InsufficientQuota`` where the wallet has less, ``BadGateway`` where nobody can tell in time."""
        if self._payer is not None:
            wallets, deadline = self._billing.recorder.wallets, self._billing.context.deadline
            self._reservation = await wallets.reserve(self._payer, self._reserved, deadline)
        self._open = True
        return self

    async def __aexit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            self.let_go()

    def let_go(self) -> None:
        """Owe nothing: what was reserved and not charged is free for others."""
        if self._open and self._payer is not None and self._reservation:
            self._billing.recorder.wallets.release(self._payer, self._reservation)
        self._open = False

    def settle(self, quantity: int) -> None:
        """The work was ``quantity`` in the end; it is paid for whole, where more was reserved and where less was."""
        self._quantity = current().quantity = quantity

    def charge(self) -> None:
        """Write the charge down, on the spot; nothing happens where nothing is open any more."""
        if not self._open:
            return
        billing, price = self._billing, self._price
        caller, identity = billing.caller, billing.identity()
        event = UsageEvent(
            id=event_id(caller.id, identity, self._model, self._known_by),
            request_id=identity.request_id,
            key_id=caller.id,
            org=caller.org,
            operation=price.operation,
            model=self._model,
            quantity=self._quantity,
            unit=price.unit,
            price=price.micro_chf,
            amount=price.amount(self._quantity),
            prepaid=caller.prepaid,
            at=int(time.time()),
            reservation=self._reservation,
        )
        billing.recorder.charge(event)
        self._open, self.charged = False, True


# How a pipeline says what its work will be, of a model and so much, before it begins.
Reserves = Callable[[str, int], Bill]
