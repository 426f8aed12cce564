"""Compares Quartet with other servers and engines: python -m lab.peers --cases embeddings,file-en --runs 5

All sides have the same machine, weights, inputs and threads, and run in turn. ``make bench-peers`` installs each peer
into its own virtual environment. Text models have the real sizes and random weights; Whisper base and the voice joe are
real, and recordings are of people.
"""

import argparse
import logging
import re
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

from lab.peers import ratios, speech, texts
from lab.peers.hearing import CASES as HEARD
from lab.peers.hearing import hearing
from lab.peers.sides import Bench, Case
from scripts.benchmark.common import output

# Tokens of the longest text.
_LONGEST, _LONGEST_PASSAGE = 500, 150
CASES: dict[str, Callable[[Bench], Case]] = {
    "embeddings": partial(texts.embeddings, name="embeddings", longest=_LONGEST),
    "embedding-passages": partial(texts.embeddings, name="embeddings of passages", longest=_LONGEST_PASSAGE),
    "rerank": partial(texts.rerank, name="rerank", longest=_LONGEST),
    "rerank-passages": partial(texts.rerank, name="rerank of passages", longest=_LONGEST_PASSAGE),
    "speech": speech.speech,
    "long-speech": speech.long_speech,
    "kokoro": speech.kokoro,
    "long-kokoro": speech.long_kokoro,
    **{name: partial(hearing, name=name) for name in HEARD},
}


def _measure(bench: Bench, names: list[str], sides: str, runs: int) -> None:
    found: list[ratios.Row] = []
    for name in names:
        case = CASES[name](bench)
        with ExitStack() as stack:
            opened = {side: start(stack) for side, start in case.sides.items() if re.search(sides, side)}
            rows = ratios.compare(case, opened, runs)
        print(f"\n{ratios.table(rows)}\n", flush=True)
        found += rows
        numbers = {"rows": [asdict(row) for row in found]}
        output.write(bench.folder / "results" / "peers", ratios.table(found), numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare Quartet with other servers and engines.")
    parser.add_argument("--cases", default=",".join(CASES), help="some of: " + ", ".join(CASES))
    parser.add_argument("--sides", default="", help="a regular expression: run only the sides whose names match")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("build/peers"), help="models, logs and results")
    arguments = parser.parse_args()
    names = arguments.cases.split(",")
    if unknown := set(names) - set(CASES):
        parser.error(f"no such case: {', '.join(unknown)}")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    _measure(Bench(arguments.folder), names, arguments.sides, arguments.runs)


if __name__ == "__main__":
    main()
