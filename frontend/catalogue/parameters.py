"""The parameters of the developer endpoints: the contract's, and those of extensions. Others are rejected by name."""

from collections.abc import Collection, Mapping

from frontend.catalogue.extensions import CLIENT_PARAMETERS, SPEECH_STREAMING, TRANSCRIPT_STREAMING
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
    # Jina's and Voyage's names of what we have.
    CLIENT_PARAMETERS: {EMBEDDINGS: ("embedding_type",), RERANK: ("top_k", "max_doc_length")},
}
# Parameters that popular clients send, and without which our answers are the same.
_OF_CLIENTS: Mapping[str, tuple[str, ...]] = {
    TRANSCRIPTIONS: (
        "user",
        "stream",  # only false; the parser refuses true
        "include",
        "include[]",
        "chunking_strategy",
        "chunking_strategy[type]",
        "chunking_strategy[threshold]",
        "chunking_strategy[prefix_padding_ms]",
        "chunking_strategy[silence_duration_ms]",
        "keywords",
        "keywords[]",
        "vad_filter",
    ),
    SPEECH: (
        "user",
        "instructions",
        "stream",  # the same sound, all at once
        "stream_format",  # only audio; the parser refuses sse
        "backend",
        "lang_code",
        "download_format",
        "return_download_link",
        "normalization_options",
    ),
    EMBEDDINGS: ("user", "input_type", "task", "normalized", "truncate", "truncation"),
    RERANK: ("user", "max_chunks_per_doc", "truncation"),
}


def meant(operation: str, served: Served) -> tuple[str, ...]:
    """The parameters that mean something to an operation of this deployment."""
    extended = (_EXTENDED[name].get(operation, ()) for name in _EXTENDED if name in served.extensions)
    return PARAMETERS[operation] + tuple(name for names in extended for name in names)


def ignored(operation: str, served: Served) -> tuple[str, ...]:
    """The parameters that an operation accepts and ignores."""
    own = meant(operation, served)
    of_clients = _OF_CLIENTS[operation] if CLIENT_PARAMETERS in served.extensions else ()
    return tuple(dict.fromkeys(name for name in (*served.aliases.ignore, *of_clients) if name not in own))


def without_spellings(names: Collection[str]) -> list[str]:
    """The names, for people: ``name[]`` and ``name[part]`` are left out if ``name`` is there."""
    return [name for name in names if "[" not in name or name.partition("[")[0] not in names]
