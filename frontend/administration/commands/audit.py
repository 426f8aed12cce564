"""quartet audit: the log of changes of keys, organisations and wallets."""

import argparse
import json
import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.administration.audit import ADMIN_KEY, COMMAND_LINE, AuditFilter
from frontend.administration.commands.database import run
from frontend.administration.commands.usage import day, name
from frontend.administration.paging import Page
from frontend.administration.registry import Registry
from frontend.administration.usage.report import beginning
from frontend.commands.arguments import positive
from frontend.commands.tables import columns

_USUAL_LIMIT = 50  # changes


def add_parsers(commands: Any) -> None:
    audit = commands.add_parser("audit", help="list changes of keys, organisations and wallets, newest first")
    audit.add_argument("--limit", type=positive, default=_USUAL_LIMIT, help=f"most changes to list ({_USUAL_LIMIT})")
    audit.add_argument("--since", type=day, help="first day, UTC (from the beginning)")
    audit.add_argument("--actor", choices=(ADMIN_KEY, COMMAND_LINE), help="who made the change")
    audit.add_argument("--action", type=name, help="kind of change, such as key.revoke")
    audit.add_argument("--target", type=name, help="beginning of a key, an organisation, or a holder")
    audit.set_defaults(run=run, work=_run)


async def _run(engine: AsyncEngine, arguments: argparse.Namespace) -> Iterable[str]:
    since = beginning(arguments.since) if arguments.since else 0
    audit_filter = AuditFilter(since, arguments.actor or "", arguments.action or "", arguments.target or "")
    rows = [("when (UTC)", "who", "from", "what", "of", "details")]
    for change in await Registry(engine).changes(audit_filter, Page(arguments.limit, newest_first=True)):
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(change.at))
        details = json.dumps(change.details, ensure_ascii=False)
        rows.append((at, change.actor, change.origin, change.action, change.target, details))
    return columns(rows)
