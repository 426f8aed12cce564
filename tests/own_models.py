"""Models that an operator adds, beside those of the contract, for applications before the fake Triton."""

import os
from pathlib import Path

from frontend.catalogue.models import EMBEDDINGS, RERANK, TRANSCRIPTIONS, Added, Model, Served
from frontend.catalogue.voices import Voice

E5 = Model(
    "embed-e5",
    EMBEDDINGS,
    7,
    "added_e5",
    max_tokens=8192,
    width=1024,
    query_prefix="query: ",
    document_prefix="a long passage: ",
    dimensions=(8, 16),
)
OWN = (
    E5,
    Model("rerank-raw", RERANK, 0, "added_raw", max_tokens=8192, raw_scores=True),
    Model("whisper-en", TRANSCRIPTIONS, 0, "added_en", languages=("en",)),
)

# Whether applications whose tests do not choose have them: the contract holds beside them.
ARE_BESIDE = bool(os.environ.get("TEST_ADDED_MODELS"))
# The names that they add to the list of models.
ADDED_NAMES = tuple(model.id for model in OWN) if ARE_BESIDE else ()


def beside_own(exported: Path, voices: tuple[Voice, ...], repository: Path) -> Added:
    """Fill the empty folder ``repository`` with links to exported models, and with those of ``OWN``."""
    for model in Served.of(added=Added(voices)).triton_models:
        (repository / model).symlink_to(exported / model)
    for name, like in (("added_e5", "m3_embedder"), ("added_raw", "m3_reranker")):
        (repository / name).symlink_to(exported / like)
    whisper = repository / "added_en" / "1" / "whisper"
    whisper.mkdir(parents=True)
    (whisper / "quartet.json").write_text('{"window_seconds": 30, "languages": {"en": 50258}}', encoding="utf-8")
    return Added(voices, OWN)
