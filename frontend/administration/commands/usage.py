"""quartet usage, prune, and wallets list|top-up."""

import argparse
from collections.abc import Iterable
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.administration.commands.database import run
from frontend.administration.names import LONGEST_NAME, check_name
from frontend.administration.registry import Registry
from frontend.administration.usage.queries import GROUPS, UsageFilter, UsageQueries
from frontend.administration.usage.report import (
    FIRST_DAY,
    LAST_DAY,
    beginning,
    cells,
    parse_day,
    parse_groups,
    report,
    to_csv,
)
from frontend.catalogue.prices import to_chf, to_micro
from frontend.commands.arguments import argument
from frontend.commands.tables import columns

day, _groups, _amount = argument(parse_day), argument(parse_groups), argument(to_micro)


@argument
def name(text: str) -> str:
    return check_name("a name", text, LONGEST_NAME)


def add_parsers(commands: Any) -> None:
    usage = commands.add_parser("usage", help="usage and its cost")
    usage.add_argument("--first", type=day, default=FIRST_DAY, help="first day, UTC (from the beginning)")
    usage.add_argument("--last", type=day, default=LAST_DAY, help="last day, UTC (until now)")
    usage.add_argument("--org", type=name, help="usage of this organisation")
    usage.add_argument("--key", help="usage of the key with this prefix")
    usage.add_argument("--by", type=_groups, default=["operation"], help=f"some of {','.join(GROUPS)} (operation)")
    usage.add_argument("--csv", action="store_true", help="print comma-separated values")
    usage.set_defaults(run=run, work=_run_usage)
    prune = commands.add_parser("prune", help="delete the charges of single requests; the sums by day stay")
    prune.add_argument("--before", type=day, required=True, help="first day to keep, UTC, at least 30 days ago")
    prune.set_defaults(run=run, work=_run_prune)
    wallets = commands.add_parser("wallets", help="balances of organisations")
    wallets.set_defaults(run=run, work=_run_wallets)
    actions = wallets.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="list all balances")
    top_up = actions.add_parser("top-up", help="add credit to a wallet; the first credit creates it")
    top_up.add_argument("org", type=name)
    top_up.add_argument("amount", type=_amount, help="in CHF, such as 25.50")
    top_up.add_argument("--reference", type=name, help="such as an invoice number; a repeated reference adds nothing")


async def _run_usage(engine: AsyncEngine, arguments: argparse.Namespace) -> Iterable[str]:
    queries = UsageQueries(engine)
    key_id = await Registry(engine).key_id(arguments.key) if arguments.key else None
    scope = UsageFilter(arguments.first, arguments.last, arguments.org, key_id)
    table = cells(await report(queries, scope, arguments.by), arguments.by)
    return to_csv(table).splitlines() if arguments.csv else columns(table)


async def _run_prune(engine: AsyncEngine, arguments: argparse.Namespace) -> Iterable[str]:
    return [f"{await UsageQueries(engine).prune(beginning(arguments.before))} charges deleted; their sums by day stay"]


async def _run_wallets(engine: AsyncEngine, arguments: argparse.Namespace) -> Iterable[str]:
    queries = UsageQueries(engine)
    if arguments.action == "top-up":
        balance = await queries.top_up(arguments.org, arguments.amount, arguments.reference)
        return [f"{arguments.org} has {to_chf(balance)} CHF"]
    balances = await queries.balances()
    return columns([("organisation", "CHF"), *((org, to_chf(balance)) for org, balance in balances.items())])
