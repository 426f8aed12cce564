"""Command line.

quartet serve
quartet check --reach
quartet keys create --name "search service" --tier pro
quartet wallets top-up acme 25.50
quartet usage --by day,operation
quartet audit --since 2026-11-20
quartet bulk embed texts.jsonl --output vectors.jsonl
quartet compare --texts texts.txt
quartet verify --facts demo
quartet tokens issue --subject phone-1 --seconds 3600

Without an installation, use ``python -m frontend``.
"""

import argparse
import importlib
import os
import sys

from frontend.commands import checkout
from frontend.config.proxies import exclude_this_machine
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.observe.logs import set_up_logging
from frontend.processes.worker import Start
from frontend.processes.workers import CANNOT_START, Workers

# Commands that call a running product and import nothing of the server.
CLIENTS = {
    "bulk": "process many files, lines or rows",
    "verify": "compare a running product with known answers",
}
# Exit status of a shell for a command that SIGINT ended.
_INTERRUPTED = 130


def _parser() -> argparse.ArgumentParser:
    from frontend.catalogue.version import VERSION
    from frontend.commands import audit, check, keys, usage
    from frontend.commands.arguments import positive

    parser = argparse.ArgumentParser(prog="quartet", description="Quartet's frontend and its keys.")
    parser.add_argument("--version", action="version", version=VERSION)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="answer requests; settings come from QUARTET_* variables")
    worker = commands.add_parser("worker", help="a worker, which 'serve' starts")
    worker.add_argument("start", type=int, help="descriptor of its start parameters")
    for module in (check, keys, usage, audit, checkout):
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


def _read() -> Settings:
    return Settings.from_env(os.environ)


def _serve() -> int:
    settings = _read()
    set_up_logging(settings.log_level, settings.log_format)
    return Workers(settings, [sys.executable, "-m", "frontend", "worker"], _read).run()


def _work(start: Start) -> None:
    from frontend.app import create_app
    from frontend.http.server import serve

    set_up_logging(start.settings.log_level, start.settings.log_format)
    serve(create_app(start.settings), start)


def _run() -> int:
    """Run any other command; print each error as one line."""
    from frontend.access.names import RegistryError
    from frontend.database.engine import DatabaseUrlError
    from frontend.database.migrate import MigrationError

    arguments = _parser().parse_args()
    try:
        if arguments.command == "worker":
            _work(Start.read(arguments.start))
            return 0
        return int(arguments.run(arguments, _read()) or 0)
    except DatabaseUrlError as error:
        print(f"QUARTET_DATABASE: {error}", file=sys.stderr)
    except (MigrationError, RegistryError) as error:
        print(error, file=sys.stderr)
    return CANNOT_START


def main() -> int:
    exclude_this_machine(os.environ)
    try:
        if sys.argv[1:] and sys.argv[1] in CLIENTS:
            return int(importlib.import_module("client.__main__").main())
        if sys.argv[1:] and sys.argv[1] in checkout.COMMANDS:
            return checkout.start(sys.argv[1], sys.argv[2:])
        # The parent stays in memory with its workers, so it imports nothing else.
        return _serve() if sys.argv[1:] == ["serve"] else _run()
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
