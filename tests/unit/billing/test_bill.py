from dataclasses import replace
from typing import Any, cast

import pytest

from frontend.access.caller import Caller
from frontend.billing.bill import Billing, IdempotencyKey, UnchargedError, charge_id
from frontend.billing.ledger import Charge
from frontend.catalogue.prices import Price
from frontend.dispatch.context import RequestContext
from frontend.errors import BadGateway, InsufficientQuota

_PRICES = {"chat": Price("chat", "million_tokens", 1_000_000)}
_PREPAID = Caller("key", "name", org="acme", prepaid=True)


class Purse:
    """Charges in memory, and one wallet."""

    def __init__(self, free: int = 100) -> None:
        self.free, self.reserved = free, dict[str, int]()
        self.charged: list[Charge] = []
        self.can_add = True
        self.wallets = self

    async def reserve(self, org: str, amount: int, deadline: float) -> str:
        if amount > self.free:
            raise InsufficientQuota("no")
        self.free -= amount
        self.reserved[name := f"reservation {len(self.reserved)}"] = amount
        return name

    def release(self, org: str, reservation: str) -> None:
        self.free += self.reserved.pop(reservation)

    def add(self, event: Charge) -> None:
        self.charged.append(event)
        ended = [self.reserved.pop(name) for name in event.reservation.split(",") if name]
        self.free += sum(ended or [event.amount]) - event.amount


@pytest.fixture
def purse() -> Purse:
    return Purse()


def _billing(purse: Purse, caller: Caller = _PREPAID) -> Billing:
    key = IdempotencyKey("request", "/v1/chat/completions", b"content")
    return Billing(cast(Any, purse), _PRICES, caller, RequestContext("key", 1, None, 0.0), lambda: key)


@pytest.fixture
def billing(purse: Purse) -> Billing:
    return _billing(purse)


async def test_money_is_reserved_until_the_end_of_the_request(purse: Purse, billing: Billing) -> None:
    free = []
    with billing:
        async with billing.reserve("chat", 30):
            free.append(purse.free)
        free.append(purse.free)
    assert (free, purse.free, purse.charged) == ([70, 70], 100, [])


async def test_a_reservation_grows_with_its_work_and_ends_with_it(purse: Purse, billing: Billing) -> None:
    with billing:
        async with billing.reserve("chat", 30) as bill:
            for quantity in (20, 50, 40, 70):
                await bill.extend(quantity, 0.0)
            with pytest.raises(InsufficientQuota):
                await bill.extend(101, 0.0)
            assert (purse.free, list(purse.reserved.values())) == (30, [30, 20, 20])
        bill.settle(60)
        bill.charge()
    assert (purse.free, purse.reserved) == (40, {})


async def test_a_bill_that_ends_while_its_reservation_grows_keeps_nothing(
    purse: Purse, billing: Billing, monkeypatch: pytest.MonkeyPatch
) -> None:
    with billing:
        async with billing.reserve("chat", 30) as bill:
            reserve = purse.reserve

            async def meanwhile(org: str, amount: int, deadline: float) -> str:
                bill.release()
                return await reserve(org, amount, deadline)

            monkeypatch.setattr(purse, "reserve", meanwhile)
            await bill.extend(50, 0.0)
            await bill.extend(60, 0.0)
    assert (purse.free, purse.reserved) == (100, {})


async def test_failed_work_releases_its_money_at_once(purse: Purse, billing: Billing) -> None:
    with billing:
        with pytest.raises(BadGateway):
            async with billing.reserve("chat", 30):
                raise BadGateway("no")
        assert purse.free == 100


async def test_work_that_the_wallet_does_not_cover_does_not_begin(purse: Purse, billing: Billing) -> None:
    with billing, pytest.raises(InsufficientQuota):
        async with billing.reserve("chat", 101):
            pytest.fail("the work was begun")
    assert purse.free == 100


async def test_a_bill_is_charged_once(purse: Purse, billing: Billing) -> None:
    with billing:
        async with billing.reserve("chat", 30) as bill:
            bill.charge()
        bill.charge()
    assert ([event.amount for event in purse.charged], purse.free) == ([30], 70)


async def test_a_waived_bill_releases_its_money_and_lets_the_answer_be_free(purse: Purse, billing: Billing) -> None:
    with billing:
        async with billing.reserve("chat", 30) as bill:
            bill.waive()
        assert billing.answer_with(200) is None
    assert (purse.charged, purse.free) == ([], 100)


async def test_a_released_bill_is_not_charged(purse: Purse, billing: Billing) -> None:
    async with billing.reserve("chat", 30) as bill:
        bill.release()
        bill.charge()
    assert (purse.charged, purse.free) == ([], 100)


@pytest.mark.parametrize(("made", "paid"), [(10, 10), (50, 50)])
async def test_a_wallet_pays_the_final_quantity(purse: Purse, billing: Billing, made: int, paid: int) -> None:
    async with billing.reserve("chat", 30) as bill:
        bill.settle(made)
        bill.charge()
    (event,) = purse.charged
    assert (event.quantity, event.amount, purse.free) == (made, paid, 100 - paid)
    assert event.id == charge_id("key", billing.idempotency_key(), "chat", 30)


async def test_without_a_wallet_all_that_was_made_is_recorded(purse: Purse) -> None:
    async with _billing(purse, Caller("key", "name")).reserve("chat", 3_000) as bill:
        bill.settle(5_000)
        bill.charge()
    assert ([event.amount for event in purse.charged], purse.free) == ([5_000], 100)


async def test_a_request_has_one_bill(billing: Billing) -> None:
    async with billing.reserve("chat", 1):
        with pytest.raises(UnchargedError):
            billing.reserve("chat", 1)


async def test_nothing_can_be_reserved_after_the_answer_has_begun(billing: Billing) -> None:
    assert billing.answer_with(200) is None
    with pytest.raises(UnchargedError):
        billing.reserve("chat", 1)


@pytest.mark.parametrize("status", [200, 304])
async def test_an_answer_without_an_error_pays_the_bill(billing: Billing, status: int) -> None:
    async with billing.reserve("chat", 1) as bill:
        assert billing.answer_with(status) is bill


async def test_an_error_is_free(purse: Purse, billing: Billing) -> None:
    with billing:
        async with billing.reserve("chat", 30):
            assert billing.answer_with(400) is None
    assert (purse.charged, purse.free) == ([], 100)


@pytest.mark.parametrize("status", [200, 304])
async def test_an_answer_whose_work_was_given_up_raises(billing: Billing, status: int) -> None:
    async with billing.reserve("chat", 1) as bill:
        bill.release()
    with pytest.raises(UnchargedError):
        billing.answer_with(status)


_KEY = IdempotencyKey("order-66", "/v1/audio/speech", b"what it says")
_ID = charge_id("key", _KEY, "tts-1", 12)


def test_a_request_that_is_sent_again_is_known_by_the_same_id() -> None:
    assert charge_id("key", replace(_KEY), "tts-1", 12) == _ID


@pytest.mark.parametrize(
    ("key_id", "key", "model", "quantity"),
    [
        ("other", _KEY, "tts-1", 12),
        ("key", replace(_KEY, request_id="order-67"), "tts-1", 12),
        ("key", replace(_KEY, path="/api/v1/audio/synthesize"), "tts-1", 12),
        ("key", replace(_KEY, content=b"something else"), "tts-1", 12),
        ("key", _KEY, "tts-1-hd", 12),
        ("key", _KEY, "tts-1", 13),
        ("keyorder-66", replace(_KEY, request_id=""), "tts-1", 12),
        ("key", _KEY, "tts-11", 2),
    ],
)
def test_requests_that_differ_in_anything_are_known_by_other_ids(
    key_id: str, key: IdempotencyKey, model: str, quantity: int
) -> None:
    assert charge_id(key_id, key, model, quantity) != _ID
