"""The memory budget for callers' data, and refusals beyond it."""

import pytest

from frontend.errors import BadGateway
from frontend.http.memory import MemoryBudget, MemoryReservation


def test_beyond_the_total_bound_a_reservation_is_refused() -> None:
    budget = MemoryBudget(100)
    with (
        MemoryReservation(budget, "a") as first,
        MemoryReservation(budget, "b") as second,
        MemoryReservation(budget, "c") as third,
    ):
        first.add(50)
        second.add(40)
        third.add(10)
        with pytest.raises(BadGateway) as refused:
            third.add(1)
    assert int(refused.value.headers["Retry-After"]) >= 1


def test_a_key_gets_at_most_half() -> None:
    budget = MemoryBudget(100)
    with (
        MemoryReservation(budget, "a") as first,
        MemoryReservation(budget, "a") as second,
        MemoryReservation(budget, "b") as other,
    ):
        first.add(40)
        second.add(10)
        with pytest.raises(BadGateway, match="your requests"):
            second.add(1)
        other.add(20)


def test_a_single_request_may_exceed_the_bounds() -> None:
    with MemoryReservation(MemoryBudget(100), "a") as alone:
        alone.add(500)


def test_a_reservation_ends_with_its_request() -> None:
    budget = MemoryBudget(100)
    for _ in range(3):
        with MemoryReservation(budget, "a") as first, MemoryReservation(budget, "b") as second:
            first.add(50)
            second.add(50)


def test_a_refused_reservation_is_released() -> None:
    budget = MemoryBudget(100)
    with MemoryReservation(budget, "a") as first:
        first.add(50)
        with pytest.raises(BadGateway), MemoryReservation(budget, "a") as second:
            second.add(20)
        with MemoryReservation(budget, "b") as other:
            other.add(50)


def test_a_resize_may_exceed_the_bounds() -> None:
    budget = MemoryBudget(100)
    with MemoryReservation(budget, "a") as first, MemoryReservation(budget, "b") as second:
        first.add(50)
        second.resize(90)
        second.resize(10)
        first.add(0)


def test_resources_close_with_the_reservation() -> None:
    closed: list[bool] = []
    with MemoryReservation(MemoryBudget(100), "a") as holding:
        holding.closing.callback(closed.append, True)
    assert closed
