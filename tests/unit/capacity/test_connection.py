"""How calls reach a simulated Triton, in times that can be worked out in the head."""

import asyncio

from scripts.capacity.fits import Line
from scripts.capacity.simulation.clock import run
from scripts.capacity.simulation.connection import Connection, inputs_of
from scripts.capacity.simulation.machine import Machine
from scripts.capacity.simulation.triton import SimulatedTriton
from tests.unit.capacity.products import VOICE, fits


def _answered(line: Line, works: list[float], loop: float = 0.0, delay: float = 0.0) -> tuple[list[float], int]:
    """When calls that are sent at once are answered by a Triton that joins them, and in how many executions."""

    async def main() -> tuple[list[float], int]:
        clock, event_loop = asyncio.get_running_loop(), asyncio.Lock()

        async def on_event_loop(seconds: float) -> None:
            async with event_loop:
                await asyncio.sleep(seconds)

        triton = SimulatedTriton(fits(line, instances=2, batch=8, delay=delay).models, Machine(8.0))
        connection = Connection(triton, on_event_loop)

        async def send(work: float) -> float:
            await connection.infer(VOICE, inputs_of(work, loop), [], 1000.0)
            return clock.time()

        took = await asyncio.gather(*map(send, works))
        return took, triton.counts[VOICE].executions

    return run(main())


def test_calls_that_are_sent_at_once_arrive_one_after_another() -> None:
    assert _answered(Line(10.0), [1.0, 1.0], loop=2.0) == ([12.0, 13.0], 2)


def test_a_batch_takes_the_steps_of_its_longest_call() -> None:
    assert _answered(Line(per_longest=2.0), [5.0, 1.0, 3.0], delay=0.5) == ([10.5] * 3, 1)
