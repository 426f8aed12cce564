"""The parameters of the developer endpoints: the contract's, and those of extensions. Others are rejected by name."""

from collections.abc import Mapping

from frontend.catalogue.extensions import SPEECH_STREAMING, TRANSCRIPT_STREAMING
from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS, Served

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
# By extension, then by operation.
_EXTENDED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    SPEECH_STREAMING: {SPEECH: ("stream_format",)},
    TRANSCRIPT_STREAMING: {TRANSCRIPTIONS: ("stream",)},
}


def meant(operation: str, served: Served) -> tuple[str, ...]:
    """The parameters that mean something to an operation of this deployment."""
    extended = (_EXTENDED[name].get(operation, ()) for name in _EXTENDED if name in served.extensions)
    return PARAMETERS[operation] + tuple(name for names in extended for name in names)


def ignored(operation: str, served: Served) -> tuple[str, ...]:
    """The parameters that an operation accepts and ignores."""
    own = meant(operation, served)
    return tuple(name for name in served.aliases.ignore if name not in own)
