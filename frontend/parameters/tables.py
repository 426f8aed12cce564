"""The table of each operation."""

from collections.abc import Mapping

from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS
from frontend.parameters import embeddings, rerank, speech, transcription
from frontend.parameters.table import Table

TABLES: Mapping[str, Table] = {
    TRANSCRIPTIONS: transcription.PARAMETERS,
    SPEECH: speech.PARAMETERS,
    EMBEDDINGS: embeddings.PARAMETERS,
    RERANK: rerank.PARAMETERS,
}
