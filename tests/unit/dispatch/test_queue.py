import asyncio
from collections import Counter

import pytest

from frontend.dispatch.queue import Dispatcher, Slots


async def test_no_more_than_the_count_run_at_once() -> None:
    slots, running, most = Slots(2, 2), 0, 0

    async def call() -> None:
        nonlocal running, most
        async with slots.slot("a"):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(call() for _ in range(20)))
    assert most == 2


async def test_owners_take_turns() -> None:
    slots, order = Slots(1, 1), []

    async def call(owner: str) -> None:
        async with slots.slot(owner):
            order.append(owner)
            await asyncio.sleep(0)

    async with slots.slot("first"):
        tasks = [asyncio.create_task(call(owner)) for owner in "aaaab"]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert "".join(order) == "abaaa"


async def test_a_caller_who_leaves_gives_the_slot_back() -> None:
    slots = Slots(1, 1)
    async with slots.slot("first"):
        waiting = asyncio.create_task(slots.slot("second").__aenter__())
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(1), slots.slot("third"):
        pass


async def test_an_owner_never_has_more_than_its_bound_and_leaves_the_rest_free() -> None:
    slots, running = Slots(4, 2), Counter[str]()
    most: dict[str, int] = {}

    async def call(owner: str) -> None:
        async with slots.slot(owner):
            running[owner] += 1
            most[owner] = max(most.get(owner, 0), running[owner])
            await asyncio.sleep(0)
            running[owner] -= 1

    long = [asyncio.create_task(call("long")) for _ in range(9)]
    await asyncio.sleep(0)
    async with asyncio.timeout(1), slots.slot("short"):
        pass
    await asyncio.gather(*long)
    assert most == {"long": 2}


async def test_a_bound_owner_does_not_hold_up_those_behind_it() -> None:
    slots = Slots(2, 1)
    async with slots.slot("long"):
        waiting = asyncio.create_task(slots.slot("long").__aenter__())
        await asyncio.sleep(0)
        async with asyncio.timeout(1), slots.slot("short"):
            pass
        assert not waiting.done()
    await waiting


async def test_models_do_not_share_slots() -> None:
    dispatcher = Dispatcher(1)
    async with asyncio.timeout(1), dispatcher.slot("a", 1), dispatcher.slot("b", 1):
        pass
