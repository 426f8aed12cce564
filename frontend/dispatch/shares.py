"""What of a model's slots is this frontend's, where it cannot hear of the others: an equal part."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from frontend.dispatch.division import View

# Slots by owner, by model.
Floors = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Demand:
    """How many calls of a model wait or run in a frontend without bulk work, and how many of each owner of a floor.

    ``is_used`` says that there are such, or were within the time that makes a Triton idle.
    """

    calls: int = 0
    owners: Mapping[str, int] = field(default_factory=dict)
    is_used: bool = False


class FixedShares:
    """An equal part for each of a number of frontends that was set."""

    def __init__(self, frontends: int, floors: Floors) -> None:
        self._frontends, self._floors = frontends, floors

    def own(self, model: str, view: View) -> dict[str, int]:
        """How many slots of each Triton this frontend has, at least one: whose turn it is nobody could tell."""
        return {name: max(1, offer.slots // self._frontends) for name, offer in view.offers.items()}

    def homes(self, model: str, view: View) -> frozenset[str]:
        """None: nobody could tell whose each is."""
        return frozenset()

    def floors(self, model: str) -> dict[str, int]:
        """How much of each owner's floor this frontend keeps."""
        return {owner: -(-floor // self._frontends) for owner, floor in self._floors.get(model, {}).items()}

    def elsewhere(self, model: str) -> bool:
        """Nothing is known of others."""
        return False
