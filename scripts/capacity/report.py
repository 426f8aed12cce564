"""Tables of a plan."""

from scripts.benchmark.common.output import head, line
from scripts.capacity.fits import Fits
from scripts.capacity.sizing import Choices, Prices, Sizes, a_month, size
from scripts.capacity.traffic import PRICED_BY, UNIT_OF, Traffic

_NEEDS = ("operation", "calls/s", "work/s at the peak", "one Triton does", "kept busy", "costs")
_POOLS = ("pool", "Tritons", "cores", "GPUs")
_ZONES = Choices(zones=3)
_FOUR_SIZES = (1e4, 1e5, 1e6, 1e7)
_HEAD = ("users", "calls/s", "text", "voices", "Whisper", "frontends", "cores", f"{_ZONES.prices.currency} a month")


def plan(sizes: Sizes, prices: Prices) -> str:
    """The machines for a traffic and their cost."""
    traffic = sizes.traffic
    needs = [
        line(
            (
                need.operation,
                f"{need.calls:.2f}",
                f"{need.units:,.0f} {UNIT_OF[need.operation]}",
                f"{need.rate:,.1f}",
                f"{need.busy:.1f}",
                f"{need.price:.3g} {prices.currency} {PRICED_BY[need.operation][1]}",
            )
        )
        for need in sizes.needs
    ]
    pools = [line((pool.name, pool.tritons, pool.cores or "-", pool.gpus or "-")) for pool in sizes.pools]
    cost = f"{sizes.cost:,.2f} {prices.currency} an hour, {a_month(sizes.cost):,.0f} a month"
    return "\n".join(
        [
            f"{traffic.users:,.0f} users, {traffic.peak_rate:,.1f} calls a second at the peak of a day\n",
            head(_NEEDS),
            *needs,
            "",
            head(_POOLS),
            *pools,
            f"\nand {sizes.frontends} frontends: {sizes.cores} cores and {sizes.gpus} GPUs, {cost}",
        ]
    )


def four_sizes() -> str:
    """The table of docs/capacity.md: plans for four numbers of users, with three zones."""
    plans = (size(Fits.load(), Traffic(users), _ZONES) for users in _FOUR_SIZES)
    return "\n".join([head(_HEAD), *map(_row, plans)])


def _row(sizes: Sizes) -> str:
    tritons = (pool.tritons for pool in sizes.pools)
    values = (f"{sizes.traffic.peak_rate:.3g}", *tritons, sizes.frontends, f"{sizes.cores:,}")
    return line((f"{sizes.traffic.users:,.0f}", *values, f"{a_month(sizes.cost):,.0f}"))
