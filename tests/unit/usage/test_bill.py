from dataclasses import replace
from typing import Any, cast

import pytest

from frontend.access.caller import Caller
from frontend.catalogue.prices import Price
from frontend.dispatch.context import RequestContext
from frontend.errors import BadGateway, InsufficientQuota
from frontend.usage.bill import Billing, IdempotencyKey, UnchargedError, event_id
from frontend.usage.spool import UsageEvent

_PRICES = {"chat": Price("chat", "million_tokens", 1_000_000)}
_PREPAID = Caller("key", "name", org="acme", prepaid=True)


class PurseRecorder:
    """A fake recorder with one wallet."""

    def __init__(self, free: int = 100) -> None:
        self.free, self.reserved = free, dict[str, int]()
        self.charges: list[UsageEvent] = []
        self.can_charge = True
        self.wallets = self

    async def reserve(self, org: str, amount: int, deadline: float) -> str:
        if amount > self.free:
            raise InsufficientQuota("no")
        self.free -= amount
        self.reserved[name := f"reservation {len(self.reserved)}"] = amount
        return name

    def release(self, org: str, reservation: str) -> None:
        self.free += self.reserved.pop(reservation)

    def charge(self, event: UsageEvent) -> None:
        self.charges.append(event)
        ended = [self.reserved.pop(name) for name in event.reservation.split(",") if name]
        self.free += sum(ended or [event.amount]) - event.amount


@pytest.fixture
def recorder() -> PurseRecorder:
    return PurseRecorder()


def _billing(recorder: PurseRecorder, caller: Caller = _PREPAID) -> Billing:
    key = IdempotencyKey("request", "/v1/chat/completions", b"content")
    return Billing(cast(Any, recorder), _PRICES, caller, RequestContext("key", 1, None, 0.0), lambda: key)


@pytest.fixture
def billing(recorder: PurseRecorder) -> Billing:
    return _billing(recorder)


async def test_money_is_reserved_until_the_end_of_the_request(recorder: PurseRecorder, billing: Billing) -> None:
    free = []
    with billing:
        async with billing.reserve("chat", 30):
            free.append(recorder.free)
        free.append(recorder.free)
    assert (free, recorder.free, recorder.charges) == ([70, 70], 100, [])


async def test_a_reservation_grows_with_its_work_and_ends_with_it(recorder: PurseRecorder, billing: Billing) -> None:
    with billing:
        async with billing.reserve("chat", 30) as bill:
            for quantity in (20, 50, 40, 70):
                await bill.extend(quantity, 0.0)
            with pytest.raises(InsufficientQuota):
                await bill.extend(101, 0.0)
            assert (recorder.free, list(recorder.reserved.values())) == (30, [30, 20, 20])
        bill.settle(60)
        bill.charge()
    assert (recorder.free, recorder.reserved) == (40, {})


async def test_a_bill_that_ends_while_its_reservation_grows_keeps_nothing(
    recorder: PurseRecorder, billing: Billing, monkeypatch: pytest.MonkeyPatch
) -> None:
    with billing:
        async with billing.reserve("chat", 30) as bill:
            reserve = recorder.reserve

            async def meanwhile(org: str, amount: int, deadline: float) -> str:
                bill.release()
                return await reserve(org, amount, deadline)

            monkeypatch.setattr(recorder, "reserve", meanwhile)
            await bill.extend(50, 0.0)
            await bill.extend(60, 0.0)
    assert (recorder.free, recorder.reserved) == (100, {})


async def test_failed_work_releases_its_money_at_once(recorder: PurseRecorder, billing: Billing) -> None:
    with billing:
        with pytest.raises(BadGateway):
            async with billing.reserve("chat", 30):
                raise BadGateway("no")
        assert recorder.free == 100


async def test_work_that_the_wallet_does_not_cover_does_not_begin(recorder: PurseRecorder, billing: Billing) -> None:
    with billing, pytest.raises(InsufficientQuota):
        async with billing.reserve("chat", 101):
            pytest.fail("the work was begun")
    assert recorder.free == 100


async def test_a_bill_is_charged_once(recorder: PurseRecorder, billing: Billing) -> None:
    with billing:
        async with billing.reserve("chat", 30) as bill:
            bill.charge()
        bill.charge()
    assert ([event.amount for event in recorder.charges], recorder.free) == ([30], 70)


async def test_a_waived_bill_releases_its_money_and_lets_the_answer_be_free(
    recorder: PurseRecorder, billing: Billing
) -> None:
    with billing:
        async with billing.reserve("chat", 30) as bill:
            bill.waive()
        billing.answer_begins(200, is_charged=False)
    assert (recorder.charges, recorder.free) == ([], 100)


async def test_a_released_bill_is_not_charged(recorder: PurseRecorder, billing: Billing) -> None:
    async with billing.reserve("chat", 30) as bill:
        bill.release()
        bill.charge()
    assert (recorder.charges, recorder.free) == ([], 100)


@pytest.mark.parametrize(("made", "paid"), [(10, 10), (50, 50)])
async def test_a_wallet_pays_the_final_quantity(
    recorder: PurseRecorder, billing: Billing, made: int, paid: int
) -> None:
    async with billing.reserve("chat", 30) as bill:
        bill.settle(made)
        bill.charge()
    (event,) = recorder.charges
    assert (event.quantity, event.amount, recorder.free) == (made, paid, 100 - paid)
    assert event.id == event_id("key", billing.idempotency_key(), "chat", 30)


async def test_without_a_wallet_all_that_was_made_is_recorded(recorder: PurseRecorder) -> None:
    async with _billing(recorder, Caller("key", "name")).reserve("chat", 3_000) as bill:
        bill.settle(5_000)
        bill.charge()
    assert ([event.amount for event in recorder.charges], recorder.free) == ([5_000], 100)


async def test_a_request_has_one_bill(billing: Billing) -> None:
    async with billing.reserve("chat", 1):
        with pytest.raises(UnchargedError):
            billing.reserve("chat", 1)


async def test_nothing_can_be_reserved_after_the_answer_has_begun(billing: Billing) -> None:
    billing.answer_begins(200, is_charged=False)
    with pytest.raises(UnchargedError):
        billing.reserve("chat", 1)


@pytest.mark.parametrize("status", [200, 304])
@pytest.mark.parametrize("failed", [False, True])
async def test_an_uncharged_answer_after_work_raises(billing: Billing, status: int, failed: bool) -> None:
    async with billing.reserve("chat", 1) as bill:
        if failed:
            bill.release()
    with pytest.raises(UnchargedError):
        billing.answer_begins(status, is_charged=False)


_KEY = IdempotencyKey("order-66", "/v1/audio/speech", b"what it says")
_ID = event_id("key", _KEY, "tts-1", 12)


def test_a_request_that_is_sent_again_is_known_by_the_same_id() -> None:
    assert event_id("key", replace(_KEY), "tts-1", 12) == _ID


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
    assert event_id(key_id, key, model, quantity) != _ID
