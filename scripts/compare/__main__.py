"""What int8 changes on your own texts, before you choose.

    quartet compare --texts texts.txt
    quartet compare --texts texts.jsonl --queries questions.txt --models folder --folder /models

It exports the embedder and the reranker in both precisions, which takes minutes the first time and seconds later, and
runs one after the other as the product does.
"""

import argparse
import sys
from pathlib import Path
from subprocess import CalledProcessError

from frontend.catalogue.models import EMBEDDINGS, RERANK
from scripts.compare import report, texts
from scripts.compare.comparison import Comparison, names_of
from scripts.compare.sides import EXACT, OTHER, ROOT, Models
from scripts.compare.texts import TextsError
from scripts.machine import processors

_MOST, _LEAST = 2000, 3
# Exit status of a shell for a command that SIGINT ended.
_INTERRUPTED = 130


def _most(text: str) -> int:
    if not text.isdecimal() or int(text) < _LEAST:
        raise argparse.ArgumentTypeError(f"{text!r}: must be {_LEAST} or more")
    return int(text)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="quartet compare", description="What int8 changes on your own texts.")
    parser.add_argument("--texts", type=Path, required=True, help="one text per line, or .jsonl with a field text")
    parser.add_argument("--queries", type=Path, help="the same form; by default each text is a query for the others")
    parser.add_argument("--most", type=_most, default=_MOST, help=f"number of compared texts, evenly chosen ({_MOST})")
    parser.add_argument("--models", choices=("demo", "hub", "folder"), default="demo", help="as MODELS of make run")
    parser.add_argument("--folder", type=Path, help="for --models folder: checkpoints laid out as on the hub")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "compare", help="folder of both exports")
    parser.add_argument("--threads", type=int, default=processors())
    return parser.parse_args(arguments)


def _read(path: Path, most: int, least: int) -> list[str]:
    found = texts.read(path)
    if len(found) < least:
        raise TextsError(f"{path} has {len(found)} different texts, and a comparison needs {least}")
    chosen = texts.spread(found, most)
    print(f"{path}: {len(found)} different texts, {len(chosen)} are compared", file=sys.stderr)
    return chosen


def _compare(given: argparse.Namespace) -> None:
    compared_texts = _read(given.texts, given.most, _LEAST)
    queries = _read(given.queries, given.most, 1) if given.queries else []
    folder = str(given.folder.absolute()) if given.folder else ""
    names = (*names_of(EMBEDDINGS), *names_of(RERANK))
    models = Models(names, given.models, folder, given.work.absolute())
    for precision in (EXACT, OTHER):
        models.export(precision)
    found = Comparison(models, compared_texts, queries, given.threads).run()
    print(f"{report.table(found)}\n\n{report.verdict(found)}")


def main(arguments: list[str]) -> int:
    try:
        _compare(_parse(arguments))
    except CalledProcessError as error:
        return error.returncode
    except TextsError as error:
        print(f"quartet compare: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
