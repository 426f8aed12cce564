import asyncio
import time
from collections.abc import AsyncIterator, Collection

import pytest

from frontend.access import api_key, known_keys
from frontend.access.caller import Caller
from frontend.access.known_keys import KnownKeys
from frontend.access.stored_keys import AuditEntry
from frontend.administration.registry import Registry
from frontend.errors import BadGateway, Unauthorized
from frontend.observe.logs import NO_REQUEST, request_id
from tests.eventually import until


class FakeRegistry(Registry):
    """Keys in a dictionary. It counts queries, and can fail or hang."""

    def __init__(self) -> None:
        self.callers: dict[str, Caller] = {}
        self.asked = self.asked_for = self.answered = 0
        self.asked_within: set[str] = set()
        self.used: list[str] = []
        self.failure: Exception | None = None
        self.hangs = False
        self.log: list[AuditEntry] = []
        self.seconds = 0.0

    def note(self, action: str, target: str, **details: str) -> None:
        self.log.append(AuditEntry(len(self.log) + 1, 0, "", "", action, target, details))

    async def newest_change(self) -> int:
        return len(self.log)

    async def changes_from(self, first: int, others: Collection[int], most: int) -> list[AuditEntry]:
        return [entry for entry in self.log if entry.id >= first or entry.id in others][:most]

    async def find(self, digests: Collection[str]) -> dict[str, Caller]:
        self.asked += 1
        self.asked_for += len(digests)
        callers = dict(self.callers)
        await asyncio.sleep(self.seconds)
        self.asked_within.add(request_id.get())
        if self.hangs:
            await asyncio.sleep(60)
        if self.failure is not None:
            raise self.failure
        self.answered += 1
        return {digest: callers[digest] for digest in digests if digest in callers}

    async def note_used(self, digests: Collection[str]) -> None:
        if self.failure is not None:
            raise self.failure
        self.used += digests


KEY = api_key.new_key()


@pytest.fixture
def registry() -> FakeRegistry:
    fake = FakeRegistry()
    fake.callers[api_key.digest(KEY)] = Caller("1", "test")
    return fake


@pytest.fixture
async def known(registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[KnownKeys]:
    monkeypatch.setattr(known_keys, "_REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(known_keys, "_QUERY_SECONDS", 0.2)
    known = KnownKeys(registry)
    known.start()
    yield known
    await known.close()


async def test_a_look_up_that_others_share_belongs_to_no_request(known: KnownKeys, registry: FakeRegistry) -> None:
    token = request_id.set("the first that asked")
    await known.identify(KEY)
    request_id.reset(token)
    assert registry.asked_within == {NO_REQUEST}


async def test_a_key_is_looked_up_once(known: KnownKeys, registry: FakeRegistry) -> None:
    for _ in range(100):
        assert (await known.identify(KEY)).name == "test"
    assert registry.asked == 1


async def test_a_burst_with_a_new_key_asks_once(registry: FakeRegistry) -> None:
    not_refreshed = KnownKeys(registry)
    found = await asyncio.gather(*(not_refreshed.identify(KEY) for _ in range(200)))
    assert {caller.name for caller in found} == {"test"}
    assert registry.asked == 1


async def test_a_cancelled_caller_does_not_cancel_the_others(known: KnownKeys) -> None:
    first, second = (asyncio.create_task(known.identify(KEY)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).name == "test"


async def test_a_malformed_key_never_reaches_the_database(known: KnownKeys, registry: FakeRegistry) -> None:
    with pytest.raises(Unauthorized):
        await known.identify("qk_" + "a" * 49)
    assert registry.asked == 0


async def test_a_revoked_key_is_refused_after_a_refresh(known: KnownKeys, registry: FakeRegistry) -> None:
    await known.identify(KEY)
    registry.callers.clear()
    await asyncio.sleep(0.15)
    with pytest.raises(Unauthorized):
        await known.identify(KEY)


async def test_a_change_is_seen_after_a_refresh(known: KnownKeys, registry: FakeRegistry) -> None:
    await known.identify(KEY)
    registry.callers[api_key.digest(KEY)] = Caller("1", "test", tier="pro")
    await asyncio.sleep(0.15)
    assert (await known.identify(KEY)).tier == "pro"


async def test_a_key_that_expires_is_refused_at_once(known: KnownKeys, registry: FakeRegistry) -> None:
    registry.callers[api_key.digest(KEY)] = Caller("1", "test", expires_at=int(time.time()) - 1)
    with pytest.raises(Unauthorized):
        await known.identify(KEY)


@pytest.mark.parametrize("hangs", [False, True])
async def test_known_keys_go_on_without_the_database(known: KnownKeys, registry: FakeRegistry, hangs: bool) -> None:
    await known.identify(KEY)
    registry.hangs, registry.failure = hangs, OSError("away")
    await asyncio.sleep(0.4)
    assert (await known.identify(KEY)).name == "test"


@pytest.mark.parametrize("hangs", [False, True])
async def test_other_keys_get_502_without_the_database(known: KnownKeys, registry: FakeRegistry, hangs: bool) -> None:
    registry.hangs, registry.failure = hangs, OSError("away")
    with pytest.raises(BadGateway):
        await known.identify(KEY)


async def test_a_key_that_is_not_used_is_forgotten(
    known: KnownKeys, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_keys, "_IDLE_SECONDS", 0.0)
    await known.identify(KEY)
    await asyncio.sleep(0.15)
    asked = registry.asked
    await asyncio.sleep(0.15)
    assert registry.asked == asked


async def test_a_key_that_is_used_again_is_not_forgotten(registry: FakeRegistry) -> None:
    known, digest = KnownKeys(registry), api_key.digest(KEY)
    await known.identify(KEY)
    known._known[digest].used -= 1_000
    await known.identify(KEY)
    await known._refresh()
    assert digest in known._known


async def test_the_use_of_a_key_is_written_once(known: KnownKeys, registry: FakeRegistry) -> None:
    for _ in range(3):
        await known.identify(KEY)
    with pytest.raises(Unauthorized):
        await known.identify(api_key.new_key())
    await known._write_used()
    await known._write_used()
    assert registry.used == [api_key.digest(KEY)]


async def test_the_use_of_a_key_is_written_after_an_outage(known: KnownKeys, registry: FakeRegistry) -> None:
    await known.identify(KEY)
    registry.failure = OSError("away")
    await known._write_used()
    registry.failure = None
    await known.close()
    assert registry.used == [api_key.digest(KEY)]


async def test_a_query_of_a_refresh_ends_before_the_close(known: KnownKeys, registry: FakeRegistry) -> None:
    await known.identify(KEY)
    registry.seconds = 0.05
    asked = registry.asked
    await until(lambda: registry.asked > asked)
    await known.close()
    assert registry.answered == registry.asked


async def _used(registry: FakeRegistry, callers: dict[str, Caller]) -> KnownKeys:
    """A cache in which these keys, by name, are in use."""
    registry.callers = {api_key.digest(key): caller for key, caller in callers.items()}
    known = KnownKeys(registry)
    for key in callers:
        await known.identify(key)
    await known._refresh()
    return known


async def _caller(known: KnownKeys, key: str) -> Caller | None:
    try:
        return await known.identify(key)
    except Unauthorized:
        return None


@pytest.mark.parametrize("place", [0, 1_500, 2_999])
async def test_a_change_of_one_key_in_thousands_is_seen_at_once_however_slow_the_database(
    registry: FakeRegistry, place: int
) -> None:
    keys = {api_key.new_key(): Caller(str(number), "test") for number in range(3_000)}
    known, revoked = await _used(registry, keys), list(keys)[place]
    for _ in range(5):
        await known._refresh()
    del registry.callers[api_key.digest(revoked)]
    registry.note("key.revoke", "qk_", id=str(place))
    registry.asked = registry.asked_for = 0
    registry.seconds = 0.05
    await known._refresh()
    assert await _caller(known, revoked) is None
    # One query of the key, one of the others in turn, and one of the revoked key that is unknown now.
    assert registry.asked == 3
    assert registry.asked_for <= 2 + 250
    assert len(known._known) == 2_999


async def test_a_change_that_no_log_has_is_seen_when_the_turn_of_the_key_comes(registry: FakeRegistry) -> None:
    keys = {api_key.new_key(): Caller(str(number), "test") for number in range(600)}
    known = await _used(registry, keys)
    registry.callers.clear()
    for _ in range(3):
        await known._refresh()
    assert [await _caller(known, key) for key in list(keys)[:3]] == [None, None, None]


async def test_a_change_during_a_look_up_is_seen(registry: FakeRegistry) -> None:
    known = await _used(registry, {api_key.new_key(): Caller("0", "other")})
    registry.callers[api_key.digest(KEY)], registry.seconds = Caller("1", "test"), 0.1
    looking = asyncio.create_task(known.identify(KEY))
    await asyncio.sleep(0.02)
    del registry.callers[api_key.digest(KEY)]
    registry.note("key.revoke", "qk_", id="1")
    await known._refresh()
    # The look-up has read the state before.
    assert await looking == Caller("1", "test")
    await known._refresh()
    assert await _caller(known, KEY) is None


async def test_a_change_that_cannot_be_read_is_read_the_next_time(registry: FakeRegistry) -> None:
    known = await _used(registry, {KEY: Caller("1", "test")})
    registry.callers.clear()
    registry.note("key.revoke", "qk_", id="1")
    registry.failure = OSError("away")
    await known._refresh()
    assert await _caller(known, KEY) is not None
    registry.failure = None
    await known._refresh()
    assert await _caller(known, KEY) is None


@pytest.mark.parametrize(
    ("action", "before", "after", "reads"),
    [
        ("org.change", Caller("1", "a", org="acme"), Caller("1", "a", org="acme", org_limit=5), True),
        ("wallet.top_up", Caller("1", "a", org="acme"), Caller("1", "a", org="acme", prepaid=True), True),
        (
            "wallet.top_up",
            Caller("1", "a", org="acme", prepaid=True),
            Caller("1", "b", org="acme", prepaid=True),
            False,
        ),
        ("org.change", Caller("1", "a", org="other"), Caller("1", "b", org="other"), False),
        ("org.change", Caller("1", "a"), Caller("1", "b"), False),
    ],
)
async def test_a_change_of_an_organisation_is_one_of_its_keys(
    registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch, action: str, before: Caller, after: Caller, reads: bool
) -> None:
    monkeypatch.setattr(known_keys, "_IN_TURN", 1)
    # Another key has the next turn.
    known = await _used(registry, {KEY: before, **{api_key.new_key(): Caller("2", "x") for _ in range(9)}})
    registry.callers[api_key.digest(KEY)] = after
    registry.note(action, "acme")
    await known._refresh()
    assert await _caller(known, KEY) == (after if reads else before)
