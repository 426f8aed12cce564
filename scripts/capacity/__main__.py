"""How many machines a number of users needs: python -m scripts.capacity plan --users 1e6"""

import argparse
import functools

from scripts.capacity import report
from scripts.capacity.fits import Fits
from scripts.capacity.sizing import Choices, Prices, size
from scripts.capacity.traffic import OPERATIONS, Share, Traffic

_DEFAULT = Traffic(users=100_000)


def _pairs(text: str) -> dict[str, float]:
    """Parse numbers by operation: ``embeddings=0.5,rerank=0.1``."""
    found = dict(item.partition("=")[::2] for item in text.split(",") if item)
    for name in found:
        if name not in OPERATIONS:
            raise argparse.ArgumentTypeError(f"{name!r}: choose from {', '.join(OPERATIONS)}")
    try:
        return {name: float(number) for name, number in found.items()}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: write {OPERATIONS[0]}=0.5,{OPERATIONS[1]}=0.1") from None


def _above_zero(text: str) -> float:
    if (number := float(text)) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: must be above 0")
    return number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that ``traffic_of`` and ``choices_of`` read."""
    add_above_zero = functools.partial(parser.add_argument, type=_above_zero)
    add_above_zero("--users", default=_DEFAULT.users)
    add_above_zero("--active", default=_DEFAULT.active, help="share of the users that call on a day")
    add_above_zero("--calls", default=_DEFAULT.calls, help="calls per active user and day")
    add_above_zero("--peak", default=_DEFAULT.peak, help="the busiest moment, as a multiple of the day's mean")
    parts = {name: share.part for name, share in _DEFAULT.shares.items()}
    sizes = {name: share.size for name, share in _DEFAULT.shares.items()}
    parser.add_argument("--shares", type=_pairs, default=parts, help="share of all calls by operation")
    parser.add_argument("--sizes", type=_pairs, default={}, help=f"mean size of a call, by default {sizes}")
    default = Choices()
    add_above_zero("--busy", default=default.busy, help="share of its time that a Triton may work")
    parser.add_argument("--zones", type=int, default=default.zones, help="above 1: enough machines if one zone is lost")
    parser.add_argument("--cores", type=int, default=default.cores, help="processors per Triton")
    parser.add_argument("--frontend-cores", type=int, default=default.frontend_cores, help="processors per frontend")
    parser.add_argument("--gpu", type=_pairs, default={}, help="units per second of one GPU by operation, as measured")
    parser.add_argument("--core-hour", type=float, default=default.prices.core, help="price of a core per hour")
    parser.add_argument("--gpu-hour", type=float, default=default.prices.gpu, help="price of a GPU per hour")
    parser.add_argument("--currency", default=default.prices.currency)


def traffic_of(given: argparse.Namespace) -> Traffic:
    shares = {
        name: Share(part, given.sizes.get(name, _DEFAULT.shares[name].size)) for name, part in given.shares.items()
    }
    return Traffic(given.users, given.active, given.calls, given.peak, shares)


def choices_of(given: argparse.Namespace) -> Choices:
    prices = Prices(given.core_hour, given.gpu_hour, given.currency)
    return Choices(given.busy, given.zones, given.cores, given.frontend_cores, given.gpu, prices)


def main() -> None:
    parser = argparse.ArgumentParser(description="How many machines a number of users needs.")
    commands = parser.add_subparsers(required=True)
    add_arguments(commands.add_parser("plan", help="the machines for the peak of a day and their cost, by a formula"))
    given = parser.parse_args()
    choices = choices_of(given)
    print(report.plan(size(Fits.load(), traffic_of(given), choices), choices.prices))


if __name__ == "__main__":
    main()
