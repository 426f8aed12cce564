"""Command line.

python -m frontend serve
python -m frontend tokens issue --subject phone-1 --seconds 3600
"""

import argparse
import os
import sys

from frontend.access.jwt import Tokens
from frontend.app import create_app
from frontend.config import Settings, SettingsError
from frontend.observe import set_up_logging
from frontend.server import serve


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="frontend", description="The Quartet frontend.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="answer requests; settings come from QUARTET_* variables")
    tokens = commands.add_parser("tokens", help="mobile tokens for development")
    issue = tokens.add_subparsers(dest="action", required=True).add_parser("issue", help="print a token")
    issue.add_argument("--subject", default="developer")
    issue.add_argument("--seconds", type=int, default=86_400)
    return parser


def main() -> int:
    arguments = _parser().parse_args()
    try:
        settings = Settings.from_env(os.environ)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.command == "serve":
        set_up_logging(settings.log_level)
        serve(create_app(settings), settings)
    else:
        tokens = Tokens(settings.jwt_secret, settings.jwt_audience, settings.jwt_issuer)
        print(tokens.issue(arguments.subject, arguments.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
