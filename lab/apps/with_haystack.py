"""Haystack: embedders, Jina's and Cohere's ranker, the remote Whisper."""

from common import ADDRESS, BASE, DOCUMENTS, KEY, QUERY, TEXTS, recording, show, tried
from haystack import Document
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.utils import Secret
from haystack_integrations.components.audio.whisper import RemoteWhisperTranscriber
from haystack_integrations.components.rankers.cohere import CohereRanker
from haystack_integrations.components.rankers.jina import JinaRanker

key = Secret.from_token(KEY)
documents = [Document(content=text) for text in TEXTS]
embedder = OpenAIDocumentEmbedder(
    model="embed-m3", api_base_url=BASE, api_key=key, batch_size=32, progress_bar=False, raise_on_failure=True
)
embedded = embedder.run(documents)
show("embeddings", {"texts": len(embedded["documents"]), "meta": embedded["meta"]})
query = OpenAITextEmbedder(model="embed-m3", api_base_url=BASE, api_key=key).run("text 3")["embedding"]
show("a query's vector is its document's", query == embedded["documents"][3].embedding)

ranker = JinaRanker(model="rerank-v2-m3", api_key=key, top_k=2, base_url=f"{BASE}/rerank")
texts = [Document(content=text) for text in DOCUMENTS]
ranked = ranker.run(query=QUERY, documents=texts)["documents"]
show("rerank", [(each.content, each.score) for each in ranked])
cohere = CohereRanker(model="rerank-v2-m3", api_key=key, api_base_url=ADDRESS, top_k=2)
tried("rerank, CohereRanker", lambda: [each.content for each in cohere.run(query=QUERY, documents=texts)["documents"]])

transcriber = RemoteWhisperTranscriber(model="stt-1", api_key=key, api_base_url=BASE)
show("transcription", [each.content for each in transcriber.run(sources=[recording()])["documents"]])
