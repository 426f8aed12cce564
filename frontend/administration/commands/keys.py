"""quartet keys create|list|change|rotate|revoke, and orgs create|list|change."""

import argparse
import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access import api_key
from frontend.administration.commands.database import run
from frontend.administration.listing import KeyEntry
from frontend.administration.registry import LONGEST_SECONDS, ROTATION_OVERLAP_SECONDS, Registry
from frontend.catalogue.endpoints import LIMITS
from frontend.commands.arguments import argument, positive
from frontend.commands.tables import columns
from frontend.config.tables import TIERS, USUAL_TIER, check_limit

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@argument
def seconds(text: str) -> int:
    """``90s``, ``15m``, ``24h`` or ``30d`` in seconds."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdecimal()):
        raise ValueError(f"{text!r}: write 90s, 15m, 24h or 30d")
    if (duration := int(number) * _UNITS[unit]) > LONGEST_SECONDS:
        raise ValueError(f"{text!r}: must be at most {LONGEST_SECONDS // _UNITS['d']}d")
    return duration


@argument
def limit(text: str) -> tuple[str, int]:
    """``embeddings=500`` as a limit and its requests per minute."""
    name, _, number = text.partition("=")
    check_limit(text, name, int(number) if number.isascii() and number.isdecimal() else None)
    return name, int(number)


def add_parsers(commands: Any) -> None:
    keys = commands.add_parser("keys", help="API keys")
    keys.set_defaults(run=run, work=_run_keys)
    actions = keys.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="create a key and print it, once, on the last line")
    create.add_argument("--name", default="unnamed", help="a name for lists")
    create.add_argument("--create-database", action="store_true", help="create the SQLite file if it is missing")
    change = actions.add_parser("change", help="change a key's tier, organisation, limit, name or expiry")
    rotate = actions.add_parser("rotate", help="create a new secret of a key and print it, once, on the last line")
    rotate.add_argument(
        "--overlap",
        type=seconds,
        default=ROTATION_OVERLAP_SECONDS,
        help="how long the old one stays valid (24h)",
    )
    revoke = actions.add_parser("revoke", help="revoke a key with all its secrets")
    actions.add_parser("list", help="list all keys, without their secrets")
    for parser in (change, rotate, revoke):
        parser.add_argument("key", help="the key, or its prefix in 'keys list'")
    change.add_argument("--name", help="a name for lists")
    change.add_argument("--no-limit", action="append", default=[], choices=tuple(LIMITS), help="use the tier's limit")
    change.add_argument("--no-org", action="store_true", help="remove it from its organisation")
    change.add_argument("--no-expiry", action="store_true", help="let it never expire")
    for parser in (create, change):
        parser.add_argument("--tier", choices=TIERS, help="priority in the queue (free)")
        parser.add_argument("--org", help="its organisation; see 'orgs create'")
        parser.add_argument("--limit", action="append", type=limit, default=[], help="per minute, as embeddings=500")
        parser.add_argument("--expires", type=seconds, help="90s, 15m, 24h or 30d from now (never)")

    orgs = commands.add_parser("orgs", help="organisations")
    orgs.set_defaults(run=run, work=_run_orgs)
    actions = orgs.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="list all organisations")
    for name, text in (("create", "create an organisation"), ("change", "change or remove its limit")):
        parser = actions.add_parser(name, help=text)
        parser.add_argument("name")
        parser.add_argument("--limit", type=positive, help="requests per minute of all its keys (no limit)")


async def _run_keys(engine: AsyncEngine, arguments: argparse.Namespace) -> Iterable[str]:
    registry = Registry(engine)
    if arguments.action == "list":
        return _table(await registry.entries())
    if arguments.action == "revoke":
        await registry.revoke(arguments.key)
        return [f"{api_key.prefix(arguments.key)} is revoked; frontends refuse it within 5 seconds"]
    if arguments.action == "rotate":
        key = await registry.rotate(arguments.key, arguments.overlap)
        return [f"the old secret holds for {arguments.overlap} s more; this one is not shown again:", key]
    expires_at = int(time.time()) + arguments.expires if arguments.expires is not None else None
    limits = dict(arguments.limit)
    if arguments.action == "create":
        key = await registry.create(arguments.name, arguments.tier or USUAL_TIER, arguments.org, limits, expires_at)
        return ["this key is not shown again:", key]
    changes = {"name": arguments.name, "tier": arguments.tier, "org": arguments.org, "expires_at": expires_at}
    values = {name: value for name, value in changes.items() if value is not None}
    if arguments.no_org:
        values["org"] = None
    if arguments.no_expiry:
        values["expires_at"] = None
    await registry.change(arguments.key, values, {**limits, **dict.fromkeys(arguments.no_limit)})
    return [f"{api_key.prefix(arguments.key)} is changed"]


async def _run_orgs(engine: AsyncEngine, arguments: argparse.Namespace) -> Iterable[str]:
    registry = Registry(engine)
    if arguments.action == "list":
        rows = [("organisation", "requests/min", "keys")]
        rows += [(name, str(limit or "-"), str(keys)) for name, limit, keys in await registry.orgs()]
        return columns(rows)
    change = registry.create_org if arguments.action == "create" else registry.change_org
    await change(arguments.name, arguments.limit)
    return [f"{arguments.name} has {f'{arguments.limit} requests a minute' if arguments.limit else 'no limit'}"]


def _table(entries: Iterable[KeyEntry]) -> Iterable[str]:
    rows = [("prefix", "name", "tier", "organisation", "limits", "id", "created", "used", "state")]
    for entry in entries:
        limits = " ".join(f"{name}={number}" for name, number in entry.limits.items()) or "-"
        used = "-" if entry.last_used_at is None else _day(entry.last_used_at)
        first = (entry.prefix, entry.name, entry.tier, entry.org or "-", limits)
        rows.append((*first, entry.id, _day(entry.created_at), used, _state(entry)))
    return columns(rows)


def _state(entry: KeyEntry) -> str:
    if entry.revoked_at is not None:
        return "revoked"
    if entry.expires_at is None:
        return "active"
    if entry.expires_at <= time.time():
        return "expired"
    return time.strftime("until %Y-%m-%dT%H:%M:%SZ", time.gmtime(entry.expires_at))


def _day(at: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))
