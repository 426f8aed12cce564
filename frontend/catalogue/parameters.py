"""The parameters of the developer endpoints, as in the contract's tables; others are rejected by name."""

from collections.abc import Mapping

from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS

FILE = "file"
# Accepted with and without brackets.
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
