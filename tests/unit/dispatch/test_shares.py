"""What of a model is a frontend's that cannot hear of the others."""

from frontend.dispatch.division import Offer, View
from frontend.dispatch.shares import FixedShares


def test_a_fixed_share_is_at_least_one() -> None:
    assert FixedShares(4, {}).own("m", View({"a": Offer(16), "b": Offer(2)})) == {"a": 4, "b": 1}


def test_a_fixed_share_of_a_floor_is_rounded_up() -> None:
    assert FixedShares(4, {"m": {"acme": 6}}).floors("m") == {"acme": 2}
