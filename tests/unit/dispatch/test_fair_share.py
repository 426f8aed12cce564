"""Keys of one priority get equal work."""

import time
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace

from frontend.dispatch.fair_share import Call, FairShare


def _add(shares: FairShare, key: Hashable, cost: float = 1.0) -> Call:
    call = Call(key, 3, None, 0.0, cost)
    shares.add(call)
    return call


def _take(shares: FairShare) -> Call:
    call = shares.first(lambda call: True)
    assert call is not None
    shares.granted(call)
    shares.remove(call)
    return call


def test_a_key_with_small_calls_gets_as_much_work_done_as_one_with_large_ones() -> None:
    shares = FairShare()
    for _ in range(100):
        _add(shares, "large", 10.0)
        for _ in range(10):
            _add(shares, "small", 1.0)
    done: Counter[Hashable] = Counter()
    for _ in range(220):
        call = _take(shares)
        done[call.key] += int(call.cost)
    assert abs(done["large"] - done["small"]) <= 10


def test_an_idle_key_saves_nothing_up() -> None:
    shares = FairShare()
    for _ in range(20):
        _add(shares, "busy")
    for _ in range(10):
        _take(shares)
    for _ in range(10):
        _add(shares, "late")
    assert Counter(_take(shares).key for _ in range(10)) == {"busy": 5, "late": 5}


def test_a_key_with_an_empty_queue_gains_nothing() -> None:
    shares = FairShare()
    _add(shares, "closed")
    for _ in range(10):
        _add(shares, "open")
    order = []
    for _ in range(10):
        call = _take(shares)
        order.append(call.key)
        if call.key == "closed":
            _add(shares, "closed")
    assert Counter(order) == {"closed": 5, "open": 5}


def test_a_blocked_key_is_skipped_and_keeps_its_position() -> None:
    shares = FairShare()
    capped, other = _add(shares, "capped"), _add(shares, "other")
    assert shares.first(lambda call: call.key != "capped") is other
    assert shares.first(lambda call: True) is capped
    assert shares.first(lambda call: False) is None


def test_calls_that_leave_are_forgotten() -> None:
    shares = FairShare()
    calls = [_add(shares, key) for key in "aab"]
    shares.remove(calls[0])
    assert (shares.count, shares.cost, shares.waiting_of("a")) == (2, 2.0, 1)
    assert shares.first(lambda call: True) is calls[1]
    shares.remove(calls[1])
    assert shares.first(lambda call: True) is calls[2]
    shares.remove(calls[2])
    assert shares.first(lambda call: True) is None


def test_keys_that_come_once_are_not_remembered_for_ever() -> None:
    shares = FairShare()
    for number in range(20_000):
        _add(shares, number)
        _take(shares)
    assert len(shares._starts) < 3_000
    assert len(shares._heap) < 6_000


def test_many_keys_that_wait_cost_as_much_each_as_few() -> None:
    def seconds(keys: int) -> float:
        shares, began = FairShare(), time.process_time()
        for number in range(keys):
            _add(shares, number)
        for number in range(keys):
            _take(shares)
            _add(shares, keys + number)
        return (time.process_time() - began) / keys

    # The least of three, since other tests run beside this one.
    assert min(seconds(16_000) for _ in range(3)) < 8 * min(seconds(1_000) for _ in range(3))


def test_within_a_key_rank_goes_before_arrival() -> None:
    shares = FairShare()
    calls = [Call("key", 3, None, 0.0, rank=rank) for rank in (1, 0, 1, 0)]
    for call in calls:
        shares.add(call)
    assert [calls.index(_take(shares)) for _ in calls] == [1, 3, 0, 2]


def _call(request: str, due: float, key: str = "key", follows: float = 0.0) -> Call:
    return Call(key, 3, request, 0.0, due=due, follows=follows)


def test_the_later_calls_of_a_request_go_before_those_of_the_next_requests() -> None:
    shares = FairShare()
    for request, due in (("first", 4.0), ("first", 4.0), ("second", 5.0), ("third", 6.0)):
        shares.add(_call(request, due))
    _take(shares)
    # It enters when a call of its request has ended.
    shares.add(_call("first", 4.0))
    assert [_take(shares).owner for _ in range(4)] == ["first", "first", "second", "third"]


def test_a_small_request_passes_a_large_one_of_its_key_until_that_is_due() -> None:
    shares = FairShare()
    for request, due in (("large", 8.0), ("large", 8.0), ("large", 8.0), ("small", 1.0), ("late", 9.0)):
        shares.add(_call(request, due))
    assert [_take(shares).owner for _ in range(5)] == ["small", "large", "large", "large", "late"]


def test_of_its_key_what_is_due_earlier_goes_before_a_call() -> None:
    shares = FairShare()
    for number in range(8):
        shares.add(_call("request", float(number)))
    assert [shares.before(_call("new", due)) for due in (-1.0, 2.5, 9.0)] == [0.0, 3.0, 8.0]
    # Of another key, as much as of its own and a call.
    shares.add(_call("request", 0.0, "other"))
    assert shares.before(_call("new", 1.0, "other")) == 1.0 + 2.0


def test_no_more_of_other_keys_goes_before_a_call_than_they_have() -> None:
    shares = FairShare()
    for number in range(8):
        shares.add(_call("request", float(number)))
    shares.add(_call("request", 0.0, "other"))
    assert shares.before(_call("new", 9.0)) == 8.0 + 1.0


def test_what_follows_a_call_goes_before_a_new_request_of_its_key() -> None:
    shares = FairShare()
    shares.add(call := _call("first", 0.0, follows=10.0))
    assert shares.before(_call("new", 1.0)) == 11.0
    # Not before a later call of the same request.
    assert shares.before(replace(_call("first", 1.0), begun=True)) == 1.0
    # Another key goes after one call.
    assert shares.before(_call("new", 1.0, "other")) == 1.0
    shares.add(_call("second", 2.0))
    shares.remove(call)
    assert shares.before(_call("new", 3.0)) == 1.0


def test_ranks_only_order_calls_of_one_key() -> None:
    shares = FairShare()
    first, other = Call("one", 3, None, 0.0, rank=1), Call("other", 3, None, 0.0)
    for call in (first, other):
        shares.add(call)
    assert [_take(shares), _take(shares)] == [first, other]
