"""The parameters of the developer endpoints, as the contract's tables have them; any other is refused by its name."""

from collections.abc import Mapping

from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS

FILE = "file"
# Taken with brackets, and without.
GRANULARITY = "timestamp_granularities"
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    TRANSCRIPTIONS: (
        FILE,
        "model",
        "language",
        "prompt",
        "response_format",
        "temperature",
        GRANULARITY,
        f"{GRANULARITY}[]",
    ),
    SPEECH: ("input", "voice", "model", "response_format", "speed", "language"),
    EMBEDDINGS: ("input", "model", "encoding_format", "dimensions"),
    RERANK: ("query", "documents", "top_n", "return_documents", "model"),
}
