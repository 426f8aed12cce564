"""What was planned, as tables."""

from scripts.benchmark.common.output import head, line
from scripts.capacity.requests import PRICED_BY, UNIT_OF
from scripts.capacity.sizing import Prices, Sizes, a_month

_NEEDS = ("operation", "calls/s", "work/s at the peak", "one Triton does", "kept busy", "costs")
_POOLS = ("pool", "Tritons", "cores", "GPUs")


def plan(sizes: Sizes, prices: Prices) -> str:
    """What a traffic needs."""
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
