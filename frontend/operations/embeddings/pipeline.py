"""From texts to vectors: tokenize, pack, one row a text."""

from frontend.config.settings import Settings
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.model_queue import Turn
from frontend.dispatch.pool import Pool
from frontend.operations.embeddings.protocol import MODEL, EmbeddingRequest, Embeddings
from frontend.operations.packed_model import PackedModel
from frontend.text.tokens import TextTokenizer
from frontend.usage.bill import Reserves

TRITON_MODEL = "m3_embedder"
OUTPUT = "embedding"
WIDTH = 1024


class EmbeddingPipeline:
    """Embeds texts with the packed embedder of a Triton."""

    def __init__(self, settings: Settings, dispatcher: Dispatcher, threads: Pool) -> None:
        self._tokenizer = TextTokenizer(settings.model_repository / TRITON_MODEL / "1")
        trial = self._tokenizer.texts(["a"])
        self._model = PackedModel(dispatcher, threads, TRITON_MODEL, OUTPUT, (WIDTH,), trial, settings)

    async def run(self, request: EmbeddingRequest, turn: Turn, reserve: Reserves) -> Embeddings:
        """One vector a text, in order."""
        texts = request.texts
        ids = await self._model.tokenize(lambda: self._tokenizer.texts(texts), sum(map(len, texts)), turn)
        tokens = sum(map(len, ids))
        await reserve(MODEL, tokens)
        return Embeddings(await self._model.rows(ids, turn), tokens)
