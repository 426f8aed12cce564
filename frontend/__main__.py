"""Command line.

quartet serve
quartet check --reach
quartet keys create --name "search service" --tier pro
quartet wallets top-up acme 25.50
quartet usage --by day,operation
quartet tokens issue --subject phone-1 --seconds 3600

``python -m frontend`` is the same where the command is not installed.
"""

import argparse
import os
import socket
import sys

from frontend.access.jwt import Tokens
from frontend.access.registry import RegistryError
from frontend.app import create_app
from frontend.commands import check, keys, usage
from frontend.config.settings import Settings
from frontend.config.tables import SettingsError
from frontend.database.engine import DatabaseUrlError
from frontend.database.migrate import MigrationError
from frontend.http.server import Inherited, serve
from frontend.observe.logs import set_up_logging
from frontend.processes.workers import CANNOT_START, Workers

# As a shell counts a command that SIGINT ended.
_INTERRUPTED = 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quartet", description="Quartet's frontend and its keys.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="answer requests; settings come from QUARTET_* variables")
    worker = commands.add_parser("worker", help="one of several that 'serve' starts")
    worker.add_argument("listening", type=int, help="descriptor of the bound socket")
    worker.add_argument("alive", type=int, help="descriptor of a pipe that ends with the parent")
    worker.add_argument("started", type=int, help="descriptor of a pipe that is told when this one accepts requests")
    check.add_parsers(commands)
    keys.add_parsers(commands)
    usage.add_parsers(commands)
    tokens = commands.add_parser("tokens", help="mobile tokens for development")
    issue = tokens.add_subparsers(dest="action", required=True).add_parser("issue", help="print a token")
    issue.add_argument("--subject", default="developer")
    issue.add_argument("--seconds", type=keys.positive, default=86_400)
    return parser


def _issue(arguments: argparse.Namespace, settings: Settings) -> None:
    if not settings.jwt_secret:
        raise SettingsError("QUARTET_JWT_SECRET: must be set to issue tokens")
    tokens = Tokens(settings.jwt_audience, settings.jwt_issuer, settings.jwt_secret)
    print(tokens.issue(arguments.subject, arguments.seconds))


def _serve(arguments: argparse.Namespace, settings: Settings) -> int:
    set_up_logging(settings.log_level, settings.log_format)
    if arguments.command == "worker":
        own = settings.for_one_worker()
        listening = socket.socket(fileno=arguments.listening)
        serve(create_app(own), own, Inherited(listening, arguments.alive, arguments.started))
    elif settings.workers > 1:
        return Workers(settings).run()
    else:
        serve(create_app(settings), settings)
    return 0


def _run(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.command in ("serve", "worker"):
        return _serve(arguments, settings)
    if arguments.command == "check":
        return check.run(arguments, settings)
    if arguments.command == "tokens":
        _issue(arguments, settings)
    else:
        (usage if arguments.command in usage.COMMANDS else keys).run(arguments, settings)
    return 0


def main() -> int:
    arguments = _parser().parse_args()
    try:
        return _run(arguments, Settings.from_env(os.environ))
    except DatabaseUrlError as error:
        print(f"QUARTET_DATABASE: {error}", file=sys.stderr)
    except (SettingsError, MigrationError, RegistryError) as error:
        print(error, file=sys.stderr)
    except OSError as error:
        # A port that is taken, a model that is not exported, a folder that cannot be made.
        print(f"cannot start: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return _INTERRUPTED
    return CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
