"""The bill of a request: reserved before its work, charged with its answer, otherwise released."""

import hashlib
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web

from frontend.access.caller import Caller
from frontend.billing.charges import Charges
from frontend.billing.ledger import Charge
from frontend.catalogue.prices import Price
from frontend.dispatch.context import RequestContext
from frontend.errors import BadGateway
from frontend.observe.logs import request_id
from frontend.observe.record import current

# Digest of a body's content, by which a repeat of a request is known. Readers of bodies set it.
CONTENT = web.RequestKey("content", bytes)
_NOT_RECORDED = "usage cannot be recorded for the moment, retry with backoff"


class UnchargedError(RuntimeError):
    """A bug: a priced answer would go out without a charge."""


@dataclass(frozen=True)
class IdempotencyKey:
    """Identifies repeats of a request: the caller's request id, the path, and a digest of the body."""

    request_id: str
    path: str
    content: bytes

    @classmethod
    def of(cls, request: web.Request) -> "IdempotencyKey":
        """The key of a request whose body has arrived."""
        return cls(request_id.get(), request.path, request[CONTENT])


def charge_id(key_id: str, key: IdempotencyKey, model: str, quantity: int) -> str:
    """The id of a charge, equal for repeats of a request with one API key.

    Body and work are part of it, because a caller may reuse a request id for other requests.
    """
    parts = (key_id, key.request_id, key.path, model, str(quantity), "")
    return hashlib.sha256("\n".join(parts).encode() + key.content).hexdigest()[:32]


@dataclass(eq=False)
class Billing:
    """The billing of one request, which has at most one bill. A bill that is not charged in the block is released.

    ``idempotency_key`` is called after the body has arrived. ``context`` has the deadline for the database.
    """

    charges: Charges
    prices: Mapping[str, Price]
    caller: Caller
    context: RequestContext
    idempotency_key: Callable[[], IdempotencyKey]
    _bill: "Bill | None" = None
    # After an answer has begun, nothing can be reserved.
    _answering: bool = False

    def __enter__(self) -> "Billing":
        return self

    def __exit__(self, *error: object) -> None:
        if self._bill is not None:
            self._bill.release()

    def reserve(self, model: str, quantity: int) -> "Bill":
        """Make the bill; enter it before the work. Raises ``BadGateway`` if charges cannot be written."""
        if self._answering or self._bill is not None:
            raise UnchargedError
        if not self.charges.can_add:
            raise BadGateway(_NOT_RECORDED)
        self._bill = Bill(self, model, self.prices[model], quantity)
        return self._bill

    def answer_with(self, status: int) -> "Bill | None":
        """The bill to charge with an answer that begins now; None if it is free, as every error is.

        Raises ``UnchargedError`` if its work was given up.
        """
        self._answering, bill = True, self._bill
        if bill is None or status >= HTTPStatus.BAD_REQUEST or bill.waived:
            return None
        if not bill.is_open and not bill.charged:
            raise UnchargedError
        return bill


# Set for each request with a known caller.
BILLING = web.RequestKey("billing", Billing)


class Bill:
    """A bill for ``quantity`` ms of audio, code points or tokens of a model.

    ``async with`` encloses the work: it reserves money, and releases it if the work fails. Otherwise the bill stays
    open until the answer begins.
    """

    def __init__(self, billing: Billing, model: str, price: Price, quantity: int) -> None:
        # Not the billing, which refers to this bill: only garbage collection would free both.
        self._charges, self._caller, self._context = billing.charges, billing.caller, billing.context
        self._idempotency_key, self._payer = billing.idempotency_key, billing.caller.payer
        self._model, self._price = model, price
        # The quantity at reservation is the same for repeats of a request.
        self._quantity_at_reservation = self._quantity = quantity
        current().model, current().quantity = model, quantity
        # Micro-CHF, and the ids of the reservations.
        self._reserved, self._reservations = price.amount(quantity), list[str]()
        # Whether it can be charged, has been charged, and whether the work found nothing that costs.
        self.is_open = self.charged = self.waived = False

    async def __aenter__(self) -> "Bill":
        """Reserve. Raises ``InsufficientQuota``, or ``BadGateway`` if the database does not answer in time."""
        await self._reserve(self._reserved, self._context.deadline)
        self.is_open = True
        return self

    async def __aexit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            self.release()

    async def _reserve(self, amount: int, deadline: float) -> None:
        if self._payer is not None:
            self._reservations.append(await self._charges.wallets.reserve(self._payer, amount, deadline))

    async def extend(self, quantity: int, deadline: float) -> None:
        """Reserve for a larger quantity by ``deadline``, as work goes on. Raises as entering the bill does."""
        amount = self._price.amount(quantity)
        if self.is_open and amount > self._reserved:
            await self._reserve(amount - self._reserved, deadline)
            self._reserved = amount
            if self._payer is not None and self._has_ended():
                # It was charged or released meanwhile.
                self._release(self._reservations.pop())

    def _has_ended(self) -> bool:
        return not self.is_open

    def _release(self, *reservations: str) -> None:
        for reservation in filter(None, reservations):
            assert self._payer is not None
            self._charges.wallets.release(self._payer, reservation)

    def release(self) -> None:
        """Release the reservations, unless the bill was charged."""
        if self.is_open:
            self._release(*self._reservations)
        self.is_open = False

    def waive(self) -> None:
        """Release the reservation, and let the answer be free."""
        self.release()
        self.waived, current().quantity = True, 0

    def settle(self, quantity: int) -> None:
        """Set the quantity of the finished work, which may be more or less than the reserved one."""
        self._quantity = current().quantity = quantity

    def charge(self) -> None:
        """Write the charge to disk at once. Does nothing if the bill is charged or released.

        Raises ``BadGateway`` if it cannot be written.
        """
        if not self.is_open:
            return
        price, caller, key = self._price, self._caller, self._idempotency_key()
        charge = Charge(
            id=charge_id(caller.id, key, self._model, self._quantity_at_reservation),
            request_id=key.request_id,
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
            reservation=",".join(filter(None, self._reservations)),
        )
        try:
            self._charges.add(charge)
        except sqlite3.Error:
            raise BadGateway(_NOT_RECORDED) from None
        self.is_open, self.charged = False, True


# Makes a bill for a model and a quantity.
Reserves = Callable[[str, int], Bill]
