import asyncio
import time

import pytest

from scripts.capacity.simulation.clock import StalledError, run


def test_an_hour_passes_at_once() -> None:
    began = time.monotonic()

    async def main() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert run(main()) == pytest.approx(3600)
    assert time.monotonic() - began < 60


def test_what_nothing_will_bring_about_is_told() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(StalledError):
        run(main())


def test_timers_go_in_the_order_of_their_times() -> None:
    async def main() -> list[float]:
        seen: list[float] = []

        async def after(seconds: float) -> None:
            await asyncio.sleep(seconds)
            seen.append(seconds)

        await asyncio.gather(*(after(seconds) for seconds in (3.0, 1.0, 2.0)))
        return seen

    assert run(main()) == [1.0, 2.0, 3.0]
