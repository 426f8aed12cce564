"""From texts to vectors: tokenize, pack, one row a text."""

from frontend.config import Settings
from frontend.dispatch.queue import Dispatcher
from frontend.operations.embeddings.protocol import EmbeddingRequest, Embeddings
from frontend.packed_model import PackedModel, tokenize
from frontend.text.tokens import TextTokenizer
from frontend.triton import Triton

TRITON_MODEL = "m3_embedder"
OUTPUT = "embedding"
WIDTH = 1024


class EmbeddingPipeline:
    """Embeds texts with the packed embedder of a Triton."""

    def __init__(self, settings: Settings, triton: Triton, dispatcher: Dispatcher) -> None:
        self._tokenizer = TextTokenizer(settings.model_repository / TRITON_MODEL / "1")
        self._model = PackedModel(triton, dispatcher, TRITON_MODEL, OUTPUT, (WIDTH,), settings.token_budget)

    async def run(self, request: EmbeddingRequest) -> Embeddings:
        """One vector a text, in order."""
        texts = request.texts
        ids = await tokenize(lambda: self._tokenizer.texts(texts), sum(map(len, texts)))
        vectors = await self._model.rows(ids)
        return Embeddings(vectors, sum(map(len, ids)))
