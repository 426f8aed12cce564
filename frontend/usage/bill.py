"""What one request costs: reserved before its work, charged with the last byte of its answer, else let go."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from frontend.access.caller import Caller
from frontend.catalogue.prices import Price
from frontend.dispatch.model_queue import Turn
from frontend.errors import BadGateway
from frontend.usage.events import Identity, UsageEvent, event_id
from frontend.usage.recorder import Recorder


class Reserves(Protocol):
    """How a pipeline says what its work will be, before it begins."""

    async def __call__(self, model: str, quantity: int) -> None: ...


@dataclass(frozen=True)
class _Item:
    """``known_by`` is the quantity before the work, which is the same whenever a request is repeated."""

    model: str
    quantity: int
    price: Price
    amount: int
    known_by: int


class UnchargedError(RuntimeError):
    """An answer that has a price would go out without being charged: a fault of ours."""


class Bill:
    """Of one request, whose ``turn`` says until when the database is waited for; nothing is owed before ``charge``.

    ``identity`` tells what the request is known by, once its body has arrived.
    """

    def __init__(
        self,
        recorder: Recorder,
        prices: Mapping[str, Price],
        caller: Caller,
        turn: Turn,
        identity: Callable[[], Identity],
    ) -> None:
        self._recorder, self._prices, self._caller, self._turn = recorder, prices, caller, turn
        self._identity = identity
        self._item: _Item | None = None
        # Whether an answer was begun, which is too late for anything that has a price.
        self.answering = False

    def __enter__(self) -> "Bill":
        return self

    def __exit__(self, *error: object) -> None:
        self.let_go()

    def let_go(self) -> None:
        """Owe nothing: what was reserved and not charged is free for others."""
        if self._item is not None and self._caller.payer is not None:
            self._recorder.wallets.release(self._caller.payer, self._item.amount)
        self._item = None

    @property
    def open(self) -> bool:
        """Whether there is something to charge."""
        return self._item is not None

    async def reserve(self, model: str, quantity: int) -> None:
        """``quantity`` ms of audio, code points or tokens of a model.

        Raises ``InsufficientQuota`` where a wallet has less than they cost, ``BadGateway`` where what they cost could
        not be written down in the end.
        """
        if self.answering or self.open:
            raise UnchargedError
        if not self._recorder.can_charge:
            raise BadGateway("usage cannot be recorded for the moment, retry with backoff")
        price = self._prices[model]
        item = _Item(model, quantity, price, price.amount(quantity), quantity)
        if self._caller.payer is not None:
            await self._recorder.wallets.reserve(self._caller.payer, item.amount, self._turn.deadline)
        self._item = item

    def answer_begins(self, *, is_charged: bool) -> None:
        """The first byte goes out; ``UnchargedError`` where there is something to charge and nobody who will."""
        self.answering = True
        if self.open and not is_charged:
            raise UnchargedError

    def settle(self, quantity: int) -> None:
        """The work was ``quantity`` in the end; what a wallet pays is what was reserved for it at most."""
        item, payer = self._item, self._caller.payer
        if item is None:
            return
        amount = item.price.amount(quantity)
        if payer is not None:
            amount = min(amount, item.amount)
            self._recorder.wallets.release(payer, item.amount - amount)
        self._item = replace(item, quantity=quantity, amount=amount)

    def charge(self) -> None:
        """Write the charge down, where there is one; a second time changes nothing."""
        item, caller = self._item, self._caller
        if item is None:
            return
        identity = self._identity()
        event = UsageEvent(
            id=event_id(caller.id, identity, item.model, item.known_by),
            request_id=identity.request_id,
            key_id=caller.id,
            org=caller.org,
            operation=item.price.operation,
            model=item.model,
            quantity=item.quantity,
            unit=item.price.unit,
            price=item.price.micro_chf,
            amount=item.amount,
            prepaid=caller.prepaid,
            at=int(time.time()),
        )
        self._recorder.charge(event)
        self._item = None
