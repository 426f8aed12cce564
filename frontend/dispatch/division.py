"""How many slots of each Triton are a frontend's, of those of one model: pure, the same wherever it is computed.

First how many each frontend has: max-min fair by progressive filling with lower bounds (Bertsekas and Gallager, Data
Networks, 6.5.2), in whole slots, O(F log F). Then where they lie: all slots stand in a line, the first of every Triton
before the second of any, and the frontends cut it into pieces one after another. A piece so lies on as many Tritons as
it has slots, and no slot is in two pieces.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from zlib import crc32


@dataclass(frozen=True)
class Offer:
    """What one Triton takes of a model at once, over all frontends: ``slots`` calls on ``lanes``; where it stands."""

    slots: int
    lanes: int = 1
    zone: str = ""


@dataclass(frozen=True, eq=False)
class View:
    """The Tritons of one model that can take calls, by name; a view is another than one that says the same."""

    offers: Mapping[str, Offer] = field(default_factory=dict)

    @cached_property
    def slots(self) -> int:
        """Of all of them."""
        return sum(offer.slots for offer in self.offers.values())

    @cached_property
    def digest(self) -> int:
        """The same number for the same Tritons with the same slots."""
        told = ((name, offer.slots, offer.zone) for name, offer in sorted(self.offers.items()))
        return crc32(repr(list(told)).encode())

    @cached_property
    def lines(self) -> dict[str, list[str]]:
        """The slots of each zone, by the names of their Tritons: the first of each, then the second of each."""
        lines: dict[str, list[tuple[int, str]]] = {}
        for name, offer in self.offers.items():
            lines.setdefault(offer.zone, []).extend((number, name) for number in range(offer.slots))
        return {zone: [name for _, name in sorted(lines[zone])] for zone in sorted(lines)}


def divide(
    slots: int, demands: Mapping[str, int], least: Mapping[str, int] | None = None, turn: int = 0
) -> dict[str, int]:
    """Slots by frontend: nobody gets more than it could use while another wants more, each one where they suffice.

    ``demands`` is what each has waiting and running; ``least`` is what some have whatever the others want, as far as
    that fits. What nobody wants is divided evenly, for who comes next. What is left over for some goes round with
    ``turn``: where there are more frontends than slots, those that want one have it one after another.
    """
    names = sorted(demands)
    low = [least.get(name, 0) for name in names] if least else [0] * len(names)
    if sum(low) > slots:
        return dict(zip(names, _filled(slots, [0] * len(names), low, turn), strict=True))
    ones = [number or 1 for number in low]
    if sum(ones) <= slots:
        low = ones
    high = [max(number, demands[name]) for name, number in zip(names, low, strict=True)]
    given = _filled(slots, low, high, turn)
    each, rest = divmod(slots - sum(given), len(names))
    lucky = _in_turn(len(names), rest, turn)
    return {name: given[place] + each + (place in lucky) for place, name in enumerate(names)}


def _filled(slots: int, low: Sequence[int], high: Sequence[int], turn: int) -> list[int]:
    """All rise together from ``low``, each to its ``high``, until the slots are given."""
    left, level, rising = slots - sum(low), 0, 0
    # Where the number of those that rise changes: twice the level, and one where it is an end.
    for bend in sorted([2 * number for number in low] + [2 * number + 1 for number in high]):
        step = bend // 2 - level
        if step and rising:
            step = min(step, left // rising)
            left -= step * rising
        level += step
        if level < bend // 2:
            break
        rising += -1 if bend % 2 else 1
    given = [max(least, min(most, level)) for least, most in zip(low, high, strict=True)]
    rising_on = [place for place, most in enumerate(high) if low[place] <= level < most]
    for place in _in_turn(len(rising_on), left, turn):
        given[rising_on[place]] += 1
    return given


def _in_turn(places: int, count: int, turn: int) -> set[int]:
    """So many of the places, other ones at each turn until all have been."""
    count = min(count, places)
    return {(turn * count + place) % places for place in range(count)}


def spread(mine: str, shares: Mapping[str, int], zones: Mapping[str, str], view: View) -> dict[str, int]:
    """How many slots of which Tritons the frontend ``mine`` has, when each has its number of ``shares``.

    The slots of a zone go to its own frontends first, and what they leave to those whose zone has too few.
    """
    near: dict[str, int] = {}
    used: Counter[str] = Counter()
    for zone in set(zones.values()):
        wanted = {name: number for name, number in shares.items() if zones[name] == zone}
        room = len(view.lines.get(zone, ()))
        if sum(wanted.values()) > room:
            wanted = dict(zip(wanted, _filled(room, [0] * len(wanted), list(wanted.values()), 0), strict=True))
        near |= wanted
        used[zone] = sum(wanted.values())
    before = [name for name in shares if name < mine]
    start = sum(near[name] for name in before if zones[name] == zones[mine])
    own = view.lines.get(zones[mine], [])[start : start + near[mine]]
    rest = [name for zone, line in view.lines.items() for name in line[used[zone] :]]
    start = sum(shares[name] - near[name] for name in before)
    return dict(Counter(own + rest[start : start + shares[mine] - near[mine]]))


def apart(mine: str, demands: Mapping[str, int], view: View, turn: int) -> dict[str, int]:
    """The same for each Triton by itself, in proportion to the demands, with a start that its name and ``turn`` choose.

    Whoever sees a Triton counts the same for it, whatever others it sees. This is systematic sampling (Madow, "On the
    theory of systematic sampling", 1949): frontends lie side by side on a line, each as long as its demand and one, and
    the slots are points on it at equal distances.
    """
    length = sum(demands.values()) + len(demands)
    start = sum(demand + 1 for name, demand in demands.items() if name < mine)
    end = start + demands[mine] + 1

    def before(place: int, slots: int, first: int) -> int:
        return -((first - place * slots) // length)

    own = {}
    for name, offer in view.offers.items():
        first = crc32(f"{name} {turn}".encode()) % length
        own[name] = before(end, offer.slots, first) - before(start, offer.slots, first)
    return own


def homes(mine: str, zones: Mapping[str, str], view: View) -> frozenset[str]:
    """The Tritons of its zone that the frontend ``mine`` fills first: each is one frontend's, and all have as many.

    Frontends that do not know what others have sent would otherwise meet on one Triton while another idles.
    """
    tritons = sorted(name for name, offer in view.offers.items() if offer.zone == zones[mine])
    frontends = sorted(name for name, zone in zones.items() if zone == zones[mine])
    own = frontends.index(mine)
    return frozenset(name for place, name in enumerate(tritons) if place * len(frontends) // len(tritons) == own)
