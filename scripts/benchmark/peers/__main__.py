"""Quartet beside what people use today: python -m scripts.benchmark.peers --cases embeddings,file-en --runs 5

Same machine, same weights, same inputs, same threads, the sides in turn. Each peer has a virtual environment of its
own, which ``make bench-peers`` makes. Cases of clips and files are of people's speech and real models.
"""

import argparse
import logging
import re
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from scripts.benchmark.peers import audio, ratios, recordings, texts
from scripts.benchmark.peers.sides import Bench, Case

# Tokens of the longest text.
_LONGEST, _LONGEST_PASSAGE = 500, 150
CASES: dict[str, Callable[[Bench], Case]] = {
    "embeddings": partial(texts.embeddings, name="embeddings", longest=_LONGEST),
    "embedding-passages": partial(texts.embeddings, name="embeddings of passages", longest=_LONGEST_PASSAGE),
    "rerank": partial(texts.rerank, name="rerank", longest=_LONGEST),
    "rerank-passages": partial(texts.rerank, name="rerank of passages", longest=_LONGEST_PASSAGE),
    "transcriptions": audio.transcriptions,
    "long-file": audio.long_file,
    "speech": partial(audio.speech, name="speech", real=False),
    "long-speech": partial(audio.long_speech, name="long speech", real=False),
    "speech-joe": partial(audio.speech, name="speech by joe", real=True),
    "long-speech-joe": partial(audio.long_speech, name="long speech by joe", real=True),
}


def _measure(bench: Bench, names: list[str], sides: str, runs: int) -> None:
    found: list[ratios.Row] = []
    for name in names:
        if name in recordings.CASES:
            print(f"\n{recordings.measure(bench, name, sides, runs)}\n", flush=True)
            continue
        case = CASES[name](bench)
        with ExitStack() as stack:
            opened = {its: start(stack) for its, start in case.sides.items() if re.search(sides, its)}
            its = ratios.compare(case, opened, runs, bench.folder / "results")
        print(f"\n{ratios.table(its)}\n", flush=True)
        found += its
        ratios.write(bench.folder / "results", found)


def main() -> None:
    known = (*CASES, *recordings.CASES)
    parser = argparse.ArgumentParser(description="Measure Quartet beside its peers.")
    parser.add_argument("--cases", default=",".join(known), help="some of: " + ", ".join(known))
    parser.add_argument("--sides", default="", help="a regular expression: only sides whose names it is found in")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("build/peers"), help="look-alikes, logs and results")
    arguments = parser.parse_args()
    names = arguments.cases.split(",")
    if unknown := set(names) - set(known):
        parser.error(f"no such case: {', '.join(unknown)}")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    _measure(Bench(arguments.folder), names, arguments.sides, arguments.runs)


if __name__ == "__main__":
    main()
