"""Command line.

quartet serve
quartet check --reach
quartet report --log frontend.log
quartet keys create --name "search service" --tier pro
quartet wallets top-up acme 25.50
quartet usage --by day,operation
quartet audit --since 2026-11-20
quartet bulk embed texts.jsonl --output vectors.jsonl
quartet verify --facts demo
quartet tokens issue --subject phone-1 --seconds 3600

Without an installation, use ``python -m frontend``.
"""

import argparse
import importlib
import os
import sys

from frontend.commands.serve import serve
from frontend.config.proxies import exclude_this_machine
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.processes.siblings import CANNOT_START

# Commands that call a running product and import nothing of the server.
CLIENTS = {
    "bulk": "process many files, lines or rows",
    "verify": "compare a running product with known answers",
}
# Exit status of a shell for a command that SIGINT ended.
_INTERRUPTED = 130


def _parser() -> argparse.ArgumentParser:
    from frontend import rings
    from frontend.catalogue.version import VERSION
    from frontend.commands import check, report
    from frontend.commands.arguments import positive

    parser = argparse.ArgumentParser(prog="quartet", description="Quartet's frontend and its keys.")
    parser.add_argument("--version", action="version", version=VERSION)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="answer requests; settings come from QUARTET_* variables")
    for module in (check, report, *rings.commands()):
        module.add_parsers(commands)
    for name, text in CLIENTS.items():
        commands.add_parser(name, help=text)
    tokens = commands.add_parser("tokens", help="mobile tokens for development")
    issue = tokens.add_subparsers(dest="action", required=True).add_parser("issue", help="print a token")
    issue.add_argument("--subject", default="developer")
    issue.add_argument("--seconds", type=positive, default=86_400)
    issue.set_defaults(run=_issue)
    return parser


def _issue(arguments: argparse.Namespace, settings: Settings) -> None:
    from frontend.access.jwt import Tokens

    if not settings.jwt_secret:
        raise SettingsError("QUARTET_JWT_SECRET: must be set to issue tokens")
    tokens = Tokens(settings.jwt_audience, settings.jwt_issuer, settings.jwt_secret)
    print(tokens.issue(arguments.subject, arguments.seconds))


def _run() -> int:
    """Run any command but ``serve``."""
    from frontend.commands.database import plain_errors

    arguments = _parser().parse_args()
    with plain_errors():
        # A report is wanted most when the settings are bad.
        given = os.environ if arguments.command == "report" else Settings.from_env(os.environ)
        return int(arguments.run(arguments, given) or 0)


def main() -> int:
    exclude_this_machine(os.environ)
    try:
        if sys.argv[1:] and sys.argv[1] in CLIENTS:
            return int(importlib.import_module("client.__main__").main())
        # The parent of several workers stays in memory, so it imports nothing of the other commands.
        return serve(Settings.from_env(os.environ)) if sys.argv[1:] == ["serve"] else _run()
    except SettingsError as error:
        print(error, file=sys.stderr)
    except OSError as error:
        # For example a port in use, a model without export, or a folder that cannot be created.
        print(f"cannot start: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return _INTERRUPTED
    return CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
