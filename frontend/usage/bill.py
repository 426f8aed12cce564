"""What one request costs: reserved before its work, charged with the last byte of its answer, else let go."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from frontend.access.caller import Caller
from frontend.prices import Price
from frontend.usage.events import UsageEvent, event_id
from frontend.usage.recorder import Recorder


class Reserves(Protocol):
    """How a pipeline says what its work will be, before it begins."""

    async def __call__(self, model: str, quantity: int) -> None: ...


@dataclass(frozen=True)
class _Item:
    model: str
    quantity: int
    price: Price
    amount: int


class Bill:
    """Of one request. ``deadline`` is in the event loop's time; nothing is owed before ``charge``."""

    def __init__(self, recorder: Recorder, prices: Mapping[str, Price], caller: Caller, deadline: float) -> None:
        self._recorder, self._prices, self._caller, self._deadline = recorder, prices, caller, deadline
        self._item: _Item | None = None
        self._event: UsageEvent | None = None

    @property
    def open(self) -> bool:
        """Whether there is something to charge."""
        return self._item is not None

    async def reserve(self, model: str, quantity: int) -> None:
        """``quantity`` ms of audio, code points or tokens of a model; 429 where a wallet has less than they cost."""
        price = self._prices[model]
        item = _Item(model, quantity, price, price.amount(quantity))
        if self._caller.payer is not None:
            await self._recorder.wallets.reserve(self._caller.payer, item.amount, self._deadline)
        self._item = item

    def charge(self, request_id: str, path: str, content: bytes) -> None:
        """Write the charge down; ``content`` is a digest of the request's body."""
        item, caller = self._item, self._caller
        assert item is not None
        event = UsageEvent(
            id=event_id(caller.id, request_id, path, content),
            request_id=request_id,
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
        is_new = self._recorder.charge(event)
        self._item, self._event = None, event if is_new else None

    def confirm(self) -> None:
        """The answer is out."""
        if self._event is not None:
            self._recorder.confirm(self._event)

    def take_back(self) -> None:
        """The answer did not go out after all."""
        if self._event is not None:
            self._recorder.take_back(self._event)

    def close(self) -> None:
        """Let go of what was reserved and not charged."""
        if self._item is not None and self._caller.payer is not None:
            self._recorder.wallets.release(self._caller.payer, self._item.amount)
        self._item = None
