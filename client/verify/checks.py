"""Runs all checks against a server in order."""

import sys
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path

from client.verify.facts import Facts
from client.verify.people import heard
from client.verify.questions import Questions
from client.verify.rows import Row, asked, same
from client.verify.speech import spoken
from client.verify.texts import embeddings, rankings
from frontend.catalogue.models import EMBEDDINGS, MODELS, RERANK, SPEECH, TRANSCRIPTIONS
from frontend.text.tokens import TextTokenizer

_CHECKS: Mapping[str, Callable[[Questions, Facts, str], Awaitable[list[Row]]]] = {
    EMBEDDINGS: embeddings,
    RERANK: rankings,
    TRANSCRIPTIONS: heard,
    SPEECH: spoken,
}
OPERATIONS = tuple(_CHECKS)
# Those whose models can be asked one by one.
OF_A_MODEL = (EMBEDDINGS, RERANK, TRANSCRIPTIONS)


async def check(api: Questions, facts: Facts, precision: str, operations: Collection[str]) -> list[Row]:
    """A row per fact about these operations. It prints each operation before it asks."""
    rows: list[Row] = []
    for name, ask in _CHECKS.items():
        if name in operations:
            print(f"asking for {name}", file=sys.stderr, flush=True)
            rows += await asked(name, ask(api, facts, precision))
    return rows


def token_ids(facts: Facts, repository: Path) -> list[Row]:
    """A row for each text with published token ids and exported tokenizer; ``OSError`` without one."""
    names = [model.triton_model for model in MODELS.values() if model.operation in (EMBEDDINGS, RERANK)]
    tokenizers = {name: TextTokenizer(repository / name / "1") for name in names}
    return [
        same(f"{name}, ids of: {text.text}", text.ids, tokenizer.texts([text.text])[0].tolist())
        for name, tokenizer in tokenizers.items()
        for text in facts.texts
        if text.ids
    ]
