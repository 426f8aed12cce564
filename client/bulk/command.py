"""quartet bulk embed|transcribe|speak: processes many items through a running server's API."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from client.api import KEY, URL, CommandError, address, required
from client.bulk.job import Job
from client.bulk.run import run as run_here

_FAILED = 1  # exit status
_MOST = 1_000_000  # of any numeric option
# Options of every request, by operation.
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "embed": {"model": "embed-m3"},
    "transcribe": {
        "model": "stt-1 or stt-1-hd",
        "language": "the language of all recordings (default: detected in each)",
        "prompt": "names and words that occur",
    },
    "speak": {
        "voice": "one of the voices",
        "language": "instead of a voice: the default voice of this language",
        "model": "tts-1 or tts-1-hd",
    },
}
_EPILOG = f"""{KEY} has a key of the tier bulk. Repeat the command to continue after any interruption. Exit status: 0 if
all items are done, 1 if some failed or it was interrupted, 2 if it cannot run."""
_HELP = {
    "embed": "texts to vectors: into a .jsonl file, or a .parquet folder",
    "transcribe": "recordings to text: into a .jsonl file, or a .parquet folder",
    "speak": "texts to audio files: into a folder",
}


def add_parser(commands: Any) -> None:
    """The command and its arguments."""
    bulk = commands.add_parser("bulk", help="work over many files, lines or rows")
    bulk.set_defaults(run=run)
    actions = bulk.add_subparsers(dest="action", required=True)
    for action, options in _OPTIONS.items():
        parser = actions.add_parser(action, help=_HELP[action], description=_HELP[action], epilog=_EPILOG)
        parser.add_argument("input", type=Path, help="a folder of files, a .jsonl file, or a .parquet file or folder")
        parser.add_argument(
            "--output", type=Path, required=True, help="the output; the same name continues an earlier run"
        )
        parser.add_argument("--column", default="", help="the field of lines or rows (text, or path for recordings)")
        for name, text in options.items():
            parser.add_argument(f"--{name}", default="", help=text)
        parser.add_argument("--retry-failed", action="store_true", help="retry failed items too")
        parser.add_argument("--concurrency", type=_number, default=16, help="requests in flight (16)")
        parser.add_argument("--patience", type=_number, default=3600, help="seconds without an answer (3600)")
        parser.add_argument("--url", default=os.environ.get(URL, ""), help=f"address of the product ({URL})")
        parser.add_argument("--ray", default="", help="address of a Ray cluster to run on, or local")
    transcribe, speak = actions.choices["transcribe"], actions.choices["speak"]
    transcribe.add_argument(
        "--timestamps", default="", choices=("segment", "word"), help="of segments, or of segments and words"
    )
    speak.add_argument("--format", default="wav", choices=("wav", "mp3"), help="of the audio files (wav)")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r}: must be an integer from 1 to {_MOST}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Return 0 if all items are done, 1 if some failed or are missing."""
    job = _job(arguments)
    if arguments.ray:
        from client.bulk.cluster import run as run_there

        return 0 if run_there(job, arguments.ray) else _FAILED
    return 0 if run_here(job) else _FAILED


def _job(arguments: argparse.Namespace) -> Job:
    options = {name: value for name in _OPTIONS[arguments.action] if (value := getattr(arguments, name))}
    if arguments.action == "speak":
        if not {"voice", "language"} & options.keys():
            raise CommandError("speech needs --voice or --language")
        options["response_format"] = arguments.format
    if arguments.action == "transcribe" and arguments.timestamps:
        options["timestamps"] = arguments.timestamps
    return Job(
        action=arguments.action,
        input=arguments.input,
        output=arguments.output,
        options=options,
        url=address(arguments.url),
        key=required(os.environ.get(KEY, ""), KEY),
        column=arguments.column,
        again=arguments.retry_failed,
        at_once=arguments.concurrency,
        patience=arguments.patience,
    )
