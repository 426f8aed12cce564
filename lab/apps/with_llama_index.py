"""LlamaIndex: embeddings under both names, rerank by Jina, Cohere and TEI, transcription by its Whisper reader."""

from common import ADDRESS, BASE, DOCUMENTS, KEY, QUERY, TEXTS, recording, show, tried
from llama_index.core import Document, VectorStoreIndex
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.postprocessor.cohere_rerank import CohereRerank
from llama_index.postprocessor.jinaai_rerank import JinaRerank
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference
from llama_index.readers.whisper import WhisperReader

own = OpenAILikeEmbedding(model_name="embed-m3", api_base=BASE, api_key=KEY, embed_batch_size=32)
vectors = own.get_text_embedding_batch(TEXTS)
show("embeddings, OpenAILikeEmbedding, embed-m3", {"texts": len(vectors), "dimensions": len(vectors[0])})

other = OpenAIEmbedding(model="text-embedding-3-small", api_base=BASE, api_key=KEY, embed_batch_size=32)
tried(
    "embeddings, OpenAIEmbedding, text-embedding-3-small",
    lambda: {"dimensions": len(other.get_query_embedding(QUERY))},
)

ranker = JinaRerank(model="rerank-v2-m3", base_url=BASE, api_key=KEY, top_n=2)
index = VectorStoreIndex.from_documents([Document(text=text) for text in DOCUMENTS], embed_model=own)
found = index.as_retriever(similarity_top_k=3).retrieve(QUERY)
show("search and rerank", [(each.text, each.score) for each in ranker.postprocess_nodes(found, query_str=QUERY)])
cohere = CohereRerank(model="rerank-v2-m3", base_url=ADDRESS, api_key=KEY, top_n=2)
tried("rerank, CohereRerank", lambda: [each.text for each in cohere.postprocess_nodes(found, query_str=QUERY)])
tei = TextEmbeddingInference(base_url=ADDRESS, auth_token=f"Bearer {KEY}", top_n=2)
tried("rerank, TextEmbeddingInference", lambda: [each.text for each in tei.postprocess_nodes(found, query_str=QUERY)])

reader = WhisperReader(model="stt-1", language="en", api_key=KEY, client_kwargs={"base_url": BASE})
show("transcription", [document.text for document in reader.load_data(str(recording()))])
