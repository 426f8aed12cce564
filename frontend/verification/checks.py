"""All that is known, asked of a server in turn."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path

from frontend.catalogue.models import EMBEDDINGS, MODELS, RERANK, SPEECH, TRANSCRIPTIONS
from frontend.text.tokens import TextTokenizer
from frontend.verification.client import Api
from frontend.verification.facts import Facts
from frontend.verification.people import heard
from frontend.verification.rows import Row, asked, same
from frontend.verification.speech import spoken
from frontend.verification.texts import embeddings, rankings

_CHECKS: Mapping[str, Callable[[Api, Facts, str], Awaitable[list[Row]]]] = {
    EMBEDDINGS: embeddings,
    RERANK: rankings,
    TRANSCRIPTIONS: heard,
    SPEECH: spoken,
}
OPERATIONS = tuple(_CHECKS)


async def check(
    api: Api, facts: Facts, precision: str, operations: Collection[str], tell: Callable[[str], None] = lambda _: None
) -> list[Row]:
    """A row for each fact about these operations; ``tell`` is given what is asked next."""
    rows: list[Row] = []
    for name, ask in _CHECKS.items():
        if name in operations:
            tell(f"asking for {name}")
            rows += await asked(name, ask(api, facts, precision))
    return rows


def token_ids(facts: Facts, repository: Path) -> list[Row]:
    """A row for each text with published token ids and exported tokenizer; ``OSError`` where there is none."""
    names = [model.triton_model for model in MODELS.values() if model.operation in (EMBEDDINGS, RERANK)]
    tokenizers = {name: TextTokenizer(repository / name / "1") for name in names}
    return [
        same(f"{name}, ids of: {each.text}", each.ids, tokenizer.texts([each.text])[0].tolist())
        for name, tokenizer in tokenizers.items()
        for each in facts.texts
        if each.ids
    ]
