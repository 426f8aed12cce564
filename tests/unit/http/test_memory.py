"""How much is held for callers, and who is refused when that is too much."""

import pytest

from frontend.errors import BadGateway
from frontend.http.memory import MemoryBudget, MemoryReservation


def test_beyond_the_bound_of_all_nobody_adds_to_what_is_held() -> None:
    held = MemoryBudget(100)
    with (
        MemoryReservation(held, "a") as first,
        MemoryReservation(held, "b") as second,
        MemoryReservation(held, "c") as third,
    ):
        first.add(50)
        second.add(40)
        with pytest.raises(BadGateway) as refused:
            third.add(20)
    assert int(refused.value.headers["Retry-After"]) >= 1


def test_a_key_holds_half_at_most() -> None:
    held = MemoryBudget(100)
    with (
        MemoryReservation(held, "a") as first,
        MemoryReservation(held, "a") as second,
        MemoryReservation(held, "b") as other,
    ):
        first.add(40)
        with pytest.raises(BadGateway, match="your requests"):
            second.add(20)
        other.add(20)


def test_one_request_alone_may_be_as_large_as_it_is() -> None:
    with MemoryReservation(MemoryBudget(100), "a") as alone:
        alone.add(500)


def test_what_was_held_is_let_go_of_at_the_end() -> None:
    held = MemoryBudget(100)
    for _ in range(3):
        with MemoryReservation(held, "a") as first, MemoryReservation(held, "b") as second:
            first.add(50)
            second.add(50)


def test_what_was_refused_is_not_held_on_to() -> None:
    held = MemoryBudget(100)
    with MemoryReservation(held, "a") as first:
        first.add(50)
        with pytest.raises(BadGateway), MemoryReservation(held, "a") as second:
            second.add(20)
        with MemoryReservation(held, "b") as other:
            other.add(50)


def test_an_answer_is_kept_though_it_is_beyond_the_bounds() -> None:
    held = MemoryBudget(100)
    with MemoryReservation(held, "a") as first, MemoryReservation(held, "b") as second:
        first.add(50)
        second.resize(90)
        second.resize(10)
        first.add(0)


def test_what_belongs_to_a_request_is_closed_with_it() -> None:
    closed: list[bool] = []
    with MemoryReservation(MemoryBudget(100), "a") as holding:
        holding.closing.callback(closed.append, True)
    assert closed
