"""What can be told on the command line, and what it comes to."""

import argparse
import functools

from scripts.capacity.sizing import Choices, Prices
from scripts.capacity.traffic import OPERATIONS, Share, Traffic

_USUAL = Traffic(users=100_000)


def _pairs(text: str) -> dict[str, float]:
    """Operations with a number each: embeddings=0.5,rerank=0.1"""
    found = dict(item.partition("=")[::2] for item in text.split(",") if item)
    for name in found:
        if name not in OPERATIONS:
            raise argparse.ArgumentTypeError(f"{name!r}: choose from {', '.join(OPERATIONS)}")
    try:
        return {name: float(number) for name, number in found.items()}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: write {OPERATIONS[0]}=0.5,{OPERATIONS[1]}=0.1") from None


def _tiers(text: str) -> tuple[float, ...]:
    parts = tuple(float(part) for part in text.split(","))
    if len(parts) != len(_USUAL.tiers) or min(parts) < 0 or not sum(parts):
        raise argparse.ArgumentTypeError(f"{text!r}: write parts of company, pro and free, as 0.1,0.3,0.6")
    return parts


def _above_zero(text: str) -> float:
    if (number := float(text)) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: must be above 0")
    return number


def add_traffic(parser: argparse.ArgumentParser) -> None:
    """The options that ``traffic_of`` reads."""
    add_above_zero = functools.partial(parser.add_argument, type=_above_zero)
    add_above_zero("--users", default=_USUAL.users)
    add_above_zero("--active", default=_USUAL.active, help="part of the users that call on a day")
    add_above_zero("--calls", default=_USUAL.calls, help="calls of one of them on a day")
    add_above_zero("--peak", default=_USUAL.peak, help="the busiest moment, by the mean of a day")
    parser.add_argument("--bursty", type=float, default=_USUAL.bursty, help="part of the calls that comes in bursts")
    parser.add_argument("--burst", type=int, default=_USUAL.burst, help="calls of a burst, within a second")
    parser.add_argument("--tiers", type=_tiers, default=_USUAL.tiers, help="parts of company, pro and free")
    parts, sizes = ({name: getattr(share, kind) for name, share in _USUAL.shares.items()} for kind in ("part", "size"))
    parser.add_argument("--shares", type=_pairs, default=parts, help="parts of all calls by operation")
    parser.add_argument("--sizes", type=_pairs, default={}, help=f"mean size of a call by operation; usual are {sizes}")


def add_choices(parser: argparse.ArgumentParser) -> None:
    """The options that ``choices_of`` reads."""
    usual = Choices()
    parser.add_argument("--busy", type=_above_zero, default=usual.busy, help="part of its time that a Triton may work")
    parser.add_argument("--zones", type=int, default=usual.zones, help="over 1: suffices when one of them is lost")
    parser.add_argument("--cores", type=int, default=usual.cores, help="processors of a Triton")
    parser.add_argument("--frontend-cores", type=int, default=usual.frontend_cores, help="processors of a frontend")
    parser.add_argument("--gpu", type=_pairs, default={}, help="units a second that one GPU does, which you measured")
    parser.add_argument("--core-hour", type=float, default=usual.prices.core, help="price of a core for an hour")
    parser.add_argument("--gpu-hour", type=float, default=usual.prices.gpu, help="price of a GPU for an hour")
    parser.add_argument("--currency", default=usual.prices.currency)


def traffic_of(given: argparse.Namespace) -> Traffic:
    """What the options say of callers."""
    shares = {name: Share(part, given.sizes.get(name, _USUAL.shares[name].size)) for name, part in given.shares.items()}
    whole = sum(given.tiers)
    tiers = tuple(part / whole for part in given.tiers)
    told = {name: getattr(given, name) for name in ("users", "active", "calls", "peak", "bursty", "burst")}
    return Traffic(**told, shares=shares, tiers=tiers)


def choices_of(given: argparse.Namespace) -> Choices:
    """What the options say of machines and money."""
    prices = Prices(given.core_hour, given.gpu_hour, given.currency)
    return Choices(given.busy, given.zones, given.cores, given.frontend_cores, given.gpu, prices)
