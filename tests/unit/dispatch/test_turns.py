"""Keys of a tier share it by work."""

from collections import Counter
from collections.abc import Hashable

from frontend.dispatch.turns import Ticket, Turns


def _add(turns: Turns, key: Hashable, cost: float = 1.0) -> Ticket:
    ticket = Ticket(key, 3, None, 0.0, cost)
    turns.add(ticket)
    return ticket


def _take(turns: Turns) -> Ticket:
    ticket = turns.first(lambda ticket: True)
    assert ticket is not None
    turns.took(ticket)
    turns.remove(ticket)
    return ticket


def test_a_key_with_small_calls_gets_as_much_work_done_as_one_with_large_ones() -> None:
    turns = Turns()
    for _ in range(100):
        _add(turns, "large", 10.0)
        for _ in range(10):
            _add(turns, "small", 1.0)
    done: Counter[Hashable] = Counter()
    for _ in range(220):
        ticket = _take(turns)
        done[ticket.key] += int(ticket.cost)
    assert abs(done["large"] - done["small"]) <= 10


def test_a_key_that_was_away_has_saved_nothing_up() -> None:
    turns = Turns()
    for _ in range(20):
        _add(turns, "busy")
    for _ in range(10):
        _take(turns)
    for _ in range(10):
        _add(turns, "late")
    assert Counter(_take(turns).key for _ in range(10)) == {"busy": 5, "late": 5}


def test_a_key_whose_queue_was_empty_for_a_moment_does_not_go_before_its_turn() -> None:
    turns = Turns()
    _add(turns, "closed")
    for _ in range(10):
        _add(turns, "open")
    order = []
    for _ in range(10):
        ticket = _take(turns)
        order.append(ticket.key)
        if ticket.key == "closed":
            _add(turns, "closed")
    assert Counter(order) == {"closed": 5, "open": 5}


def test_a_key_that_may_not_go_is_passed_over_and_keeps_its_turn() -> None:
    turns = Turns()
    capped, other = _add(turns, "capped"), _add(turns, "other")
    assert turns.first(lambda ticket: ticket.key != "capped") is other
    assert turns.first(lambda ticket: True) is capped
    assert turns.first(lambda ticket: False) is None


def test_tickets_that_leave_are_forgotten() -> None:
    turns = Turns()
    tickets = [_add(turns, key) for key in "aab"]
    turns.remove(tickets[0])
    assert (turns.count, turns.cost, turns.waiting_of("a")) == (2, 2.0, 1)
    assert turns.first(lambda ticket: True) is tickets[1]
    turns.remove(tickets[1])
    assert turns.first(lambda ticket: True) is tickets[2]
    turns.remove(tickets[2])
    assert turns.first(lambda ticket: True) is None


def test_keys_that_come_once_are_not_remembered_for_ever() -> None:
    turns = Turns()
    for number in range(20_000):
        _add(turns, number)
        _take(turns)
    assert len(turns._starts) < 3_000
    assert len(turns._heap) < 6_000


def test_of_a_key_the_lowest_rank_goes_first_and_then_who_came_first() -> None:
    turns = Turns()
    tickets = [Ticket("key", 3, None, 0.0, rank=rank) for rank in (1, 0, 1, 0)]
    for ticket in tickets:
        turns.add(ticket)
    assert [tickets.index(_take(turns)) for _ in tickets] == [1, 3, 0, 2]


def test_a_rank_counts_for_nothing_beside_another_key() -> None:
    turns = Turns()
    first, other = Ticket("one", 3, None, 0.0, rank=1), Ticket("other", 3, None, 0.0)
    for ticket in (first, other):
        turns.add(ticket)
    assert [_take(turns), _take(turns)] == [first, other]
