"""quartet verify: compares a running server with known answers, or with another server on your own texts."""

import argparse
import asyncio
import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from client.api import KEY, URL, CommandError, address, required
from client.verify import against, checks
from client.verify.facts import NAMED, PRECISIONS, Facts, load
from client.verify.questions import Questions, RefusedError
from client.verify.record import record
from client.verify.rows import HEAD, Row
from frontend.commands.tables import columns

_WRONG = 1
_FACTS, _PRECISION = "QUARTET_FACTS", "QUARTET_PRECISION"
_EPILOG = """Exit status: 0 if all facts hold, 1 if one does not, 2 if the server could not be asked. Facts about models
and voices that are not served do not count."""


def add_parser(commands: Any) -> None:
    """The command and its arguments."""
    text = "compare the answers of a running product with known ones"
    parser = commands.add_parser("verify", help=text, description=text, epilog=_EPILOG)
    parser.set_defaults(run=run)
    parser.add_argument("--url", default=os.environ.get(URL, ""), help=f"address of the product ({URL})")
    parser.add_argument("--key", default=os.environ.get(KEY, ""), help=f"a key of it ({KEY})")
    parser.add_argument(
        "--facts", default=os.environ.get(_FACTS, ""), help=f"{', '.join(NAMED)} or a file of facts ({_FACTS})"
    )
    parser.add_argument(
        "--precision",
        default=os.environ.get(_PRECISION, ""),
        choices=("", *PRECISIONS),
        help=f"of the text models ({_PRECISION}); else the widest tolerance",
    )
    parser.add_argument("--only", action="append", choices=checks.OPERATIONS, default=[], help="only this operation")
    parser.add_argument("--model", default="", help="ask this model alone, such as an added one")
    parser.add_argument("--models", type=Path, help="check the tokenizers of this model repository too")
    parser.add_argument("--against", metavar="URL", help="compare with this server, on the lines of --texts")
    parser.add_argument("--against-key", default="", help="a key of that server, if it is another one")
    parser.add_argument("--against-model", default="", help="the model of that server, if its name is another")
    parser.add_argument("--texts", type=Path, help="one text per line, or .jsonl with a field text")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write a file of facts with this server's answers")


def run(arguments: argparse.Namespace) -> int:
    """Print the table; return 0 or 1, as the help says."""
    if arguments.against:
        return _compare(arguments)
    facts = _about(load(required(arguments.facts, _FACTS, "--facts")), arguments)
    product = Questions(address(arguments.url), required(arguments.key, KEY, "--key"))
    try:
        if arguments.record:
            asyncio.run(_record(product, facts, arguments))
            return 0
        rows = checks.token_ids(facts, arguments.models) if arguments.models else []
        rows += asyncio.run(_check(product, facts, arguments))
    except RefusedError as error:
        raise CommandError(str(error)) from None
    print("\n".join([f"{facts.about}\n", *columns([HEAD, *(row.cells for row in rows)]), ""]))
    good, wrong, missing = (sum(row.ok is state for row in rows) for state in (True, False, None))
    print(f"{good} facts hold, {wrong} do not" + (f", {missing} are about what is not served" if missing else ""))
    return 0 if good and not wrong else _WRONG


def _about(facts: Facts, arguments: argparse.Namespace) -> Facts:
    """The facts about the model that is asked, which may be named in the file of facts."""
    asked = arguments.model or facts.model
    if facts.model not in ("", asked):
        raise CommandError(f"{arguments.facts} is about {facts.model}, not {asked}")
    arguments.model = asked
    return facts if facts.model == asked else facts.of_any_model()


async def _operations(product: Questions, model: str) -> Collection[str]:
    """The operation of the ``model``, which the product is then asked for, or all without one."""
    if not model:
        return checks.OPERATIONS
    if (operation := await product.operation_of(model)) not in checks.OF_A_MODEL:
        raise CommandError(f"{model} is for {operation}; there are facts for {', '.join(checks.OF_A_MODEL)}")
    product.named = {operation: model}
    return [operation]


def _compare(arguments: argparse.Namespace) -> int:
    """Print what differs from another server; there are no limits, so nothing fails."""
    texts = against.read(Path(required(str(arguments.texts or ""), "--texts")))
    key = required(arguments.key, KEY, "--key")
    servers = (
        Questions(address(arguments.url), key),
        Questions(address(arguments.against), arguments.against_key or key),
    )
    try:
        rows = asyncio.run(_differences(*servers, arguments, texts))
    except RefusedError as error:
        raise CommandError(str(error)) from None
    print("\n".join([f"{len(texts)} texts, {arguments.url} against {arguments.against}\n", *columns(rows)]))
    return 0


async def _differences(
    product: Questions, right: Questions, arguments: argparse.Namespace, texts: list[str]
) -> against.Rows:
    async with product, right:
        await _operations(product, arguments.model)
        await _operations(right, arguments.against_model or arguments.model)
        return await against.compare(product, right, texts)


async def _check(product: Questions, facts: Facts, arguments: argparse.Namespace) -> list[Row]:
    async with product:
        await product.models()
        operations = await _operations(product, arguments.model)
        return await checks.check(product, facts, arguments.precision, arguments.only or operations)


async def _record(product: Questions, facts: Facts, arguments: argparse.Namespace) -> None:
    precision = required(arguments.precision, _PRECISION, "--precision")
    async with product:
        recorded = await record(product, facts, precision, await _operations(product, arguments.model))
    arguments.record.write_bytes(recorded.to_json())
    print(f"{arguments.record} has the answers of {arguments.url}", file=sys.stderr)
