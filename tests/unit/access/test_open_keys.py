"""What is told that a key is revoked, and how often the key is looked at."""

import asyncio
from collections import Counter
from contextlib import ExitStack
from functools import partial

import pytest

from frontend.access import open_keys
from frontend.access.caller import Caller
from frontend.access.open_keys import OpenKeys
from frontend.errors import Unauthorized
from tests.eventually import until


class Keys:
    """Counts its looks, and refuses those in ``revoked``."""

    def __init__(self) -> None:
        self.looks: Counter[str] = Counter()
        self.revoked: set[str] = set()

    async def identify(self, token: str) -> Caller:
        self.looks[token] += 1
        if token in self.revoked:
            raise Unauthorized("revoked")
        return Caller(token, "free")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_keys, "_LOOK_SECONDS", 0.05)


def _unexpected(failure: Unauthorized) -> None:
    pytest.fail(str(failure))


async def test_a_key_is_looked_at_once_for_all_its_requests_until_the_last_ends() -> None:
    keys = Keys()
    known = OpenKeys(keys)
    with ExitStack() as many:
        for _ in range(500):
            many.enter_context(known.open("a", lambda failure: _unexpected(failure)))
        await until(lambda: keys.looks["a"] > 2)
        assert keys.looks["a"] < 100
    seen = keys.looks["a"]
    await asyncio.sleep(0.2)
    assert keys.looks["a"] == seen


async def test_every_request_of_a_revoked_key_is_told_once_and_no_other() -> None:
    keys, told = Keys(), list[str]()
    known = OpenKeys(keys)
    with ExitStack() as several:
        for key, name in (("a", "first"), ("a", "second"), ("b", "other")):
            several.enter_context(known.open(key, partial(lambda name, _: told.append(name), name)))
        keys.revoked.add("a")
        await until(lambda: keys.looks["a"] > 3)
    assert sorted(told) == ["first", "second"]


async def test_a_request_that_begins_while_those_of_before_still_end_is_told_too() -> None:
    keys, told = Keys(), list[str]()
    known = OpenKeys(keys)
    with known.open("a", lambda _: told.append("before")):
        keys.revoked.add("a")
        await until(lambda: told == ["before"])
        keys.revoked.clear()
        with known.open("a", lambda _: told.append("after")):
            keys.revoked.add("a")
            await until(lambda: told == ["before", "after"])


async def test_thousands_of_requests_of_a_revoked_key_let_others_have_their_turn() -> None:
    keys, told = Keys(), list[int]()
    known, most = OpenKeys(keys), 0
    keys.revoked.add("a")
    with ExitStack() as many:
        for number in range(2000):
            many.enter_context(known.open("a", partial(lambda number, _: told.append(number), number)))
        while len(told) < 2000:
            before = len(told)
            await asyncio.sleep(0)
            most = max(most, len(told) - before)
    assert most == 1
