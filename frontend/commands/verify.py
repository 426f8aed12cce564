"""quartet verify: what is known of the models, asked of a running product over its API."""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from frontend.commands.tables import columns
from frontend.config.reading import PREFIX
from frontend.verification import checks
from frontend.verification.client import Api, CannotAskError, RefusedError
from frontend.verification.facts import NAMED, PRECISIONS, Facts, FactsError, load
from frontend.verification.record import record
from frontend.verification.rows import HEAD, Row

_WRONG, _NOT_ASKED = 1, 2
_URL, _KEY, _FACTS, _PRECISION = (f"{PREFIX}{name}" for name in ("URL", "API_KEY", "FACTS", "PRECISION"))
_EPILOG = """Exit status: 0 where every fact holds, 1 where one does not, 2 where nothing could be asked. Facts about
models and voices that are not served count as neither."""


def add_parsers(commands: Any) -> None:
    """The subcommand and its arguments."""
    text = "hold a running product to what is known of its models"
    parser = commands.add_parser("verify", help=text, description=text, epilog=_EPILOG)
    parser.add_argument("--url", default=os.environ.get(_URL, ""), help=f"address of the product ({_URL})")
    parser.add_argument("--key", default=os.environ.get(_KEY, ""), help=f"a key of it ({_KEY})")
    parser.add_argument(
        "--facts", default=os.environ.get(_FACTS, ""), help=f"{', '.join(NAMED)} or a file of facts ({_FACTS})"
    )
    parser.add_argument(
        "--precision",
        default=os.environ.get(_PRECISION, ""),
        choices=("", *PRECISIONS),
        help=f"of the text models ({_PRECISION}); else the widest tolerance",
    )
    parser.add_argument("--only", action="append", choices=checks.OPERATIONS, default=[], help="this operation alone")
    parser.add_argument("--models", type=Path, help="look into the tokenizers of this model repository too")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write a file of facts with this product's answers")


def run(arguments: argparse.Namespace) -> int:
    """The table to standard output; 0, 1 or 2 as the help says."""
    try:
        facts, api = load(_given(arguments.facts, "--facts", _FACTS)), _api(arguments)
        if arguments.record:
            return asyncio.run(_record(api, facts, arguments))
        rows = checks.token_ids(facts, arguments.models) if arguments.models else []
        rows += asyncio.run(_check(api, facts, arguments))
    except (FactsError, CannotAskError, RefusedError) as error:
        print(error, file=sys.stderr)
        return _NOT_ASKED
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return _NOT_ASKED
    table = columns([HEAD, *(row.cells for row in rows)])
    print("\n".join([f"{facts.about}\n", *table, "", _summary(rows)]))
    return 0 if _holds(rows) else _WRONG


def _given(value: str, option: str, variable: str) -> str:
    if not value:
        raise CannotAskError(f"set {variable} or {option}; 'make run' writes it, beside address and key, to demo.env")
    return value


def _api(arguments: argparse.Namespace) -> Api:
    url, key = _given(arguments.url, "--url", _URL), _given(arguments.key, "--key", _KEY)
    if not url.startswith(("http://", "https://")):
        raise CannotAskError(f"{url}: the address of the product begins with http:// or https://")
    return Api(f"{url.rstrip('/').removesuffix('/v1')}/v1", key)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def _check(api: Api, facts: Facts, arguments: argparse.Namespace) -> list[Row]:
    async with api:
        await api.models()
        return await checks.check(api, facts, arguments.precision, arguments.only or checks.OPERATIONS, _tell)


async def _record(api: Api, facts: Facts, arguments: argparse.Namespace) -> int:
    precision = _given(arguments.precision, "--precision", _PRECISION)
    async with api:
        recorded = await record(api, facts, precision)
    arguments.record.write_bytes(recorded.to_json())
    _tell(f"{arguments.record} has the answers of {arguments.url}")
    return 0


def _holds(rows: list[Row]) -> bool:
    """Whether there is a fact that holds, and none that does not."""
    return any(row.ok for row in rows) and not any(row.ok is False for row in rows)


def _summary(rows: list[Row]) -> str:
    good, wrong, missing = (sum(row.ok is state for row in rows) for state in (True, False, None))
    return f"{good} facts hold, {wrong} do not" + (f", {missing} are about what is not served" if missing else "")
