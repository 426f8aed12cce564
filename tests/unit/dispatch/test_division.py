"""How the slots of several Tritons are divided among frontends: as many, and on as many Tritons, as is fair."""

from collections import Counter

import pytest
from hypothesis import given, strategies

from frontend.dispatch.division import Offer, View, apart, divide, homes, spread

NAMES = strategies.text("abcdef", min_size=1, max_size=3)
DEMANDS = strategies.dictionaries(NAMES, strategies.integers(0, 100), min_size=1)
ZONES = strategies.sampled_from(["", "a", "b"])
VIEWS = strategies.dictionaries(
    NAMES, strategies.builds(Offer, strategies.integers(1, 20), zone=ZONES), min_size=1
).map(View)


@pytest.mark.parametrize(
    ("slots", "demands", "least", "shares"),
    [
        # Equal demands.
        (16, {"a": 50, "b": 50}, {}, {"a": 8, "b": 8}),
        # Who wants little leaves the rest to the others.
        (16, {"a": 2, "b": 50, "c": 50}, {}, {"a": 2, "b": 7, "c": 7}),
        # What nobody wants is divided evenly.
        (16, {"a": 0, "b": 0}, {}, {"a": 8, "b": 8}),
        (16, {"a": 4, "b": 0}, {}, {"a": 4 + 6, "b": 1 + 5}),
        # A lower bound is given whatever the others want, and changes nothing where it is met anyway.
        (8, {"a": 6, "b": 100}, {"a": 6}, {"a": 6, "b": 2}),
        (8, {"a": 100, "b": 100}, {"a": 3}, {"a": 4, "b": 4}),
        # Lower bounds that do not fit are no reason to give more than there is.
        (4, {"a": 9, "b": 9, "c": 9}, {"a": 6, "b": 6}, {"a": 2, "b": 2, "c": 0}),
    ],
)
def test_slots_are_divided_by_demand(
    slots: int, demands: dict[str, int], least: dict[str, int], shares: dict[str, int]
) -> None:
    assert divide(slots, demands, least) == shares


@given(strategies.integers(0, 200), DEMANDS, strategies.integers(0, 9))
def test_all_slots_are_given_and_none_twice(slots: int, demands: dict[str, int], turn: int) -> None:
    assert sum(divide(slots, demands, turn=turn).values()) == slots


@given(strategies.integers(1, 200), DEMANDS)
def test_each_has_one_where_they_suffice(slots: int, demands: dict[str, int]) -> None:
    assert min(divide(slots + len(demands), demands).values()) >= 1


@given(strategies.integers(1, 200), DEMANDS)
def test_nobody_has_more_than_it_wants_while_another_wants_more(slots: int, demands: dict[str, int]) -> None:
    given_ = divide(slots, demands)
    for name, its in given_.items():
        for other, wanted in demands.items():
            if wanted > given_[other] and its > demands[name]:
                assert its <= 1


def test_where_there_are_more_frontends_than_slots_all_that_want_one_have_it_in_turn() -> None:
    demands = {f"wants {number}": 3 for number in range(10)} | {"idle": 0}
    had: Counter[str] = Counter()
    for turn in range(5):
        had.update(divide(4, demands, turn=turn))
    assert [had[name] for name in demands] == [2] * 10 + [0]


@given(VIEWS, DEMANDS, strategies.data())
def test_every_slot_of_every_triton_is_one_frontends(
    view: View, demands: dict[str, int], data: strategies.DataObject
) -> None:
    zones = {name: data.draw(ZONES) for name in demands}
    shares = divide(view.slots, demands)
    placed = {name: spread(name, shares, zones, view) for name in demands}
    assert {name: sum(its.values()) for name, its in placed.items()} == shares
    assert sum(map(Counter, placed.values()), Counter()) == {name: o.slots for name, o in view.offers.items()}


def test_a_frontends_slots_lie_on_as_many_tritons_as_can_be() -> None:
    view = View({f"triton {number:03}": Offer(2) for number in range(100)})
    shares = divide(view.slots, {f"frontend {number}": 5 for number in range(40)})
    placed = [spread(name, shares, dict.fromkeys(shares, ""), view) for name in shares]
    assert {len(its) for its in placed} == {5}


def test_the_slots_of_a_zone_go_to_its_frontends_first() -> None:
    view = View({"x": Offer(6, zone="a"), "y": Offer(6, zone="b")})
    zones = {"one": "a", "two": "b", "three": "b"}
    assert spread("one", {"one": 6, "two": 3, "three": 3}, zones, view) == {"x": 6}
    busy = {"one": 2, "two": 5, "three": 5}
    assert [spread(name, busy, zones, view) for name in busy] == [{"x": 2}, {"y": 3, "x": 2}, {"y": 3, "x": 2}]


@given(VIEWS, DEMANDS, strategies.integers(0, 9))
def test_each_triton_by_itself_is_divided_without_a_rest(view: View, demands: dict[str, int], turn: int) -> None:
    placed = [Counter(apart(name, demands, view, turn)) for name in demands]
    assert sum(placed, Counter()) == {name: offer.slots for name, offer in view.offers.items()}


def test_what_is_divided_by_itself_depends_on_no_other_triton() -> None:
    demands = {"a": 3, "b": 1, "c": 0}
    whole = apart("b", demands, View({"x": Offer(7), "y": Offer(2)}), 4)
    assert whole["x"] == apart("b", demands, View({"x": Offer(7)}), 4)["x"]


def test_a_view_is_told_by_its_digest() -> None:
    views = [View({"x": Offer(2), "y": Offer(3)}), View({"y": Offer(3), "x": Offer(2)}), View({"x": Offer(2)})]
    same, again, other = (view.digest for view in views)
    assert same == again != other


@given(strategies.dictionaries(NAMES, ZONES, min_size=1), VIEWS)
def test_each_triton_of_a_zone_is_the_home_of_one_of_its_frontends(zones: dict[str, str], view: View) -> None:
    found = Counter(triton for name in zones for triton in homes(name, zones, view))
    assert found == Counter(name for name, offer in view.offers.items() if offer.zone in zones.values())


@given(strategies.integers(1, 20), strategies.integers(1, 20))
def test_frontends_have_as_many_homes(frontends: int, tritons: int) -> None:
    zones = {f"{name:02}": "" for name in range(frontends)}
    view = View({f"{name:02}": Offer(1) for name in range(tritons)})
    counts = [len(homes(name, zones, view)) for name in zones]
    assert max(counts) - min(counts) <= 1
