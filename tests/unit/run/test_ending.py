"""The first signal ends, and no later one interrupts the end."""

import os
import signal
from collections.abc import Iterator

import pytest

from scripts.run.ending import Ending

_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)


@pytest.fixture(autouse=True)
def _handlers_are_put_back() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def test_the_first_signal_interrupts_and_a_later_one_of_any_kind_does_not() -> None:
    again: list[str] = []
    Ending(lambda: again.append("again"), _SIGNALS)
    with pytest.raises(KeyboardInterrupt):
        _send(signal.SIGUSR1)
    for number in _SIGNALS:
        _send(number)
    assert again == ["again", "again"]


def test_none_interrupts_an_end_that_came_by_itself() -> None:
    again: list[str] = []
    Ending(lambda: again.append("again"), _SIGNALS).begins()
    _send(signal.SIGUSR1)
    assert again == ["again"]
