import asyncio

from frontend.concurrency.turnstile import Turnstile


async def test_a_crowd_takes_turns() -> None:
    turnstile, passed = Turnstile(8), 0

    async def go_on() -> None:
        nonlocal passed
        await turnstile.turn()
        passed += 1

    waiting = asyncio.gather(*(go_on() for _ in range(100)))
    counts = []
    while not waiting.done():
        before = passed
        await asyncio.sleep(0)
        counts.append(passed - before)
    assert passed == 100
    assert max(counts) <= 10
