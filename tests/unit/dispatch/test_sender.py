"""When the sender looks again."""

import asyncio
import math

import pytest
import uvloop

from tests.unit.dispatch.queues import queue_of


async def _send_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    sender, seconds, looks = queue_of().sender, iter([0.0002, 0.0001]), []

    def next_change(now: float, models: object) -> float:
        looks.append(now)
        return now + next(seconds, math.inf)

    monkeypatch.setattr(sender.admission, "next_change", next_change)
    sender.send()
    sender.send()
    await asyncio.sleep(0.01)
    # The earlier change replaced the later one.
    assert len(looks) == 3


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_changes_within_a_millisecond_are_waited_for(monkeypatch: pytest.MonkeyPatch, loop: type) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(_send_twice(monkeypatch))
