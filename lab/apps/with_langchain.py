"""LangChain: embeddings with its OpenAI package, rerank with Cohere's and with the community's Jina package."""

from common import ADDRESS, BASE, DOCUMENTS, KEY, QUERY, TEXTS, show, tried
from langchain_cohere import CohereRerank
from langchain_community.document_compressors import jina_rerank
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import OpenAIEmbeddings


def _embeddings(model: str) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(model=model, base_url=BASE, api_key=KEY, check_embedding_ctx_length=False, chunk_size=32)


vectors = _embeddings("embed-m3").embed_documents(TEXTS)
show("embeddings, embed-m3", {"texts": len(vectors), "dimensions": len(vectors[0])})
other = "text-embedding-3-small"
tried(f"embeddings, {other}", lambda: {"dimensions": len(_embeddings(other).embed_query("text 3"))})

store = InMemoryVectorStore(_embeddings("embed-m3"))
store.add_texts(DOCUMENTS)
show("search", [found.page_content for found in store.similarity_search(QUERY, k=1)])

# The module has its address as a constant.
jina_rerank.JINA_API_URL = f"{BASE}/rerank"
ranker = jina_rerank.JinaRerank(model="rerank-v2-m3", jina_api_key=KEY, top_n=2)
texts = [Document(text) for text in DOCUMENTS]
ranked = ranker.compress_documents(texts, QUERY)
show("rerank", [(DOCUMENTS.index(each.page_content), each.metadata["relevance_score"]) for each in ranked])
cohere = CohereRerank(model="rerank-v2-m3", cohere_api_key=KEY, base_url=ADDRESS, top_n=2)
tried("rerank, CohereRerank", lambda: [each.page_content for each in cohere.compress_documents(texts, QUERY)])
