"""What can be told on the command line, and what it comes to."""

import argparse
import functools
from pathlib import Path

from scripts.capacity.fits import FOLDER
from scripts.capacity.requests import OPERATIONS
from scripts.capacity.sizing import Choices, Prices
from scripts.capacity.traffic import Share, Traffic

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


def _hours(text: str) -> tuple[float, float]:
    start, _, end = text.partition("-")
    hours = float(start), float(end)
    if not 0 <= hours[0] < hours[1] <= 24:
        raise argparse.ArgumentTypeError(f"{text!r}: write 8-16")
    return hours


def _add_traffic(parser: argparse.ArgumentParser) -> None:
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


def _add_choices(parser: argparse.ArgumentParser) -> None:
    usual = Choices()
    parser.add_argument("--fits", default="real", help="name of a file in scripts/capacity/measured, or its path")
    parser.add_argument("--busy", type=_above_zero, default=usual.busy, help="part of its time that a Triton may work")
    parser.add_argument("--zones", type=int, default=usual.zones, help="over 1: suffices when one of them is lost")
    parser.add_argument("--cores", type=int, default=usual.cores, help="processors of a Triton")
    parser.add_argument("--frontend-cores", type=int, default=usual.frontend_cores, help="processors of a frontend")
    parser.add_argument("--gpu", type=_pairs, default={}, help="units a second that one GPU does, which you measured")
    parser.add_argument("--core-hour", type=float, default=usual.prices.core, help="price of a core for an hour")
    parser.add_argument("--gpu-hour", type=float, default=usual.prices.gpu, help="price of a GPU for an hour")
    parser.add_argument("--currency", default=usual.prices.currency)


def _add_run(parser: argparse.ArgumentParser, seconds: float) -> None:
    parser.add_argument("--seconds", type=_above_zero, default=seconds, help="how much of the day is simulated")
    parser.add_argument("--seed", type=int, default=1)


def parser() -> argparse.ArgumentParser:
    described = argparse.ArgumentParser(description="How many machines a number of users needs.")
    chosen = described.add_subparsers(dest="command", required=True)
    plan = chosen.add_parser("plan", help="the formula: what is needed at the peak of a day, and what it costs")
    peak = chosen.add_parser("peak", help="the plan simulated at its busiest moment")
    zone = chosen.add_parser("zone", help="the same, and a zone is lost in the middle of it")
    day = chosen.add_parser("day", help="the plan's pools scaled by demand over some hours of a day")
    for each in (plan, peak, zone, day):
        _add_traffic(each)
        _add_choices(each)
    for each in (peak, zone):
        _add_run(each, 300.0)
    day.add_argument("--hours", type=_hours, default=(8.0, 16.0))
    day.add_argument("--seed", type=int, default=1)
    day.add_argument("--plot", type=Path, help="an SVG file of demand and Tritons")
    steps = chosen.add_parser("signals", help="signals to scale by, and how long a Triton takes to start")
    _add_run(steps, 2400.0)
    steps.add_argument("--plot", type=Path, help="an SVG file of the waits")
    table = chosen.add_parser("sizes", help="four numbers of users, planned and simulated, for docs/capacity.md")
    table.add_argument("--fits", default="real")
    table.add_argument("--seed", type=int, default=1)
    measure = chosen.add_parser("measure", help="fit the models of this machine, and run the bench to compare with")
    measure.add_argument("name", help="of the files in scripts/capacity/measured")
    measure.add_argument("--repository", type=Path, default=Path("model_repository"))
    measure.add_argument("--rounds", type=int, default=40, help="executions of each model")
    measure.add_argument("--alone", type=int, default=16, help="requests of each operation, one after another")
    measure.add_argument("--loaded", type=int, default=48, help="requests of each, of four callers at once")
    measure.add_argument("--seconds", type=float, default=8.0, help="of each load of the bench; 0 leaves it out")
    measure.add_argument("--like", action="append", default=[], metavar="M=N", help="model M takes as long as N")
    compare = chosen.add_parser("compare", help="what the bench measured beside the simulation of it")
    compare.add_argument("--fits", default="demo")
    return described


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


def path_of(name: str) -> Path:
    """Of fits by name, or where the name is a path."""
    return Path(name) if name.endswith(".json") else FOLDER / f"{name}.json"
