"""quartet bulk embed|transcribe|speak: work over many items, through the API of a running product."""

import argparse
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from frontend.bulk.client import Server
from frontend.bulk.failures import BulkError
from frontend.bulk.local import run as run_here
from frontend.bulk.runs import Job
from frontend.commands.arguments import positive
from frontend.config.reading import PREFIX

_FAILED, _REFUSED = 1, 2
_URL, _KEY = f"{PREFIX}URL", f"{PREFIX}API_KEY"
_number = partial(positive, most=1_000_000)
# The options that go into every request, by operation.
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "embed": {"model": "embed-m3"},
    "transcribe": {
        "model": "stt-1 or stt-1-hd",
        "language": "the language of all recordings (found in each)",
        "prompt": "names and words that occur",
    },
    "speak": {
        "voice": "one of the voices",
        "language": "in the place of a voice: its usual one",
        "model": "tts-1 or tts-1-hd",
    },
}
_EPILOG = f"""{_KEY} has a key of the tier bulk. The same command goes on where it was, whatever ended it. Exit
status: 0 where every item is done, 1 where some have failed or it was interrupted, 2 where it cannot be done."""
_HELP = {
    "embed": "texts to vectors: into a .jsonl file, or a .parquet folder",
    "transcribe": "recordings to text: into a .jsonl file, or a .parquet folder",
    "speak": "texts to audio files: into a folder",
}


def add_parsers(commands: Any) -> None:
    """The subcommands and their arguments."""
    actions = commands.add_parser("bulk", help="work over many files, lines or rows").add_subparsers(
        dest="action", required=True
    )
    for action, options in _OPTIONS.items():
        parser = actions.add_parser(action, help=_HELP[action], description=_HELP[action], epilog=_EPILOG)
        parser.add_argument("input", type=Path, help="a folder of files, a .jsonl file, or a .parquet file or folder")
        parser.add_argument("--output", type=Path, required=True, help="where it goes; the same again goes on there")
        parser.add_argument("--column", default="", help="the field of lines or rows: text, and path of recordings")
        for name, text in options.items():
            parser.add_argument(f"--{name}", default="", help=text)
        parser.add_argument("--retry-failed", action="store_true", help="do what has failed again, too")
        parser.add_argument("--concurrency", type=_number, default=16, help="requests under way at once (16)")
        parser.add_argument("--patience", type=_number, default=3600, help="seconds without an answer (3600)")
        parser.add_argument("--url", default=os.environ.get(_URL, ""), help=f"address of the product ({_URL})")
        parser.add_argument("--ray", default="", help="address of a Ray cluster that does the work, or local")
    transcribe, speak = actions.choices["transcribe"], actions.choices["speak"]
    transcribe.add_argument("--timestamps", default="", choices=("segment", "word"), help="of segments, or words too")
    speak.add_argument("--format", default="wav", choices=("wav", "mp3"), help="of the audio files (wav)")


def run(arguments: argparse.Namespace) -> int:
    """0 where all is done, 1 where items have failed or are missing, 2 with a sentence where it cannot be done."""
    try:
        server, job = _server(arguments), _job(arguments)
        if arguments.ray:
            from frontend.bulk.cluster import run as run_there

            done = run_there(job, server, arguments.concurrency, arguments.ray, print)
        else:
            done = run_here(job, server, arguments.concurrency, print)
    except BulkError as error:
        print(error, file=sys.stderr)
        return _REFUSED
    return 0 if done else _FAILED


def _server(arguments: argparse.Namespace) -> Server:
    key = os.environ.get(_KEY, "")
    if not arguments.url or not key:
        raise BulkError(f"set {_KEY}, and {_URL} or --url: where the product answers, and a key of the tier bulk")
    if not arguments.url.startswith(("http://", "https://")):
        raise BulkError(f"{arguments.url}: the address of the product begins with http:// or https://")
    return Server(f"{arguments.url.rstrip('/').removesuffix('/v1')}/v1", key, arguments.patience)


def _job(arguments: argparse.Namespace) -> Job:
    given = {name: getattr(arguments, name) for name in _OPTIONS[arguments.action]}
    options = {name: value for name, value in given.items() if value}
    if arguments.action == "speak":
        if not {"voice", "language"} & options.keys():
            raise BulkError("speech needs --voice or --language")
        options["response_format"] = arguments.format
    if arguments.action == "transcribe" and arguments.timestamps:
        options["timestamps"] = arguments.timestamps
    return Job(arguments.action, arguments.input, arguments.output, arguments.column, options, arguments.retry_failed)
