"""Rerank clients of others against Quartet: Cohere's own in both versions, llama-index's Jina integration."""

import json
import os

import cohere
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.jinaai_rerank import JinaRerank

ADDRESS, KEY = os.environ["QUARTET_URL"], os.environ["QUARTET_API_KEY"]
QUERY = "How do I change my password?"
DOCUMENTS = ["Bananas are yellow.", "Change your password under settings.", "It rains."]

client = cohere.Client(api_key=KEY, base_url=ADDRESS)
by_cohere = client.rerank(model="rerank-v2-m3", query=QUERY, documents=DOCUMENTS, top_n=2)
by_version_2 = cohere.ClientV2(api_key=KEY, base_url=ADDRESS).rerank(
    model="rerank-v2-m3", query=QUERY, documents=DOCUMENTS, top_n=2, max_tokens_per_doc=500
)

jina = JinaRerank(model="rerank-v2-m3", base_url=f"{ADDRESS}/v1", api_key=KEY, top_n=2)
nodes = [NodeWithScore(node=TextNode(text=text)) for text in DOCUMENTS]
by_jina = jina.postprocess_nodes(nodes, query_str=QUERY)

print(
    json.dumps(
        {
            "cohere": [result.index for result in by_cohere.results],
            "cohere, version 2": [result.index for result in by_version_2.results],
            "jina": [DOCUMENTS.index(node.node.get_content()) for node in by_jina],
            "scores": [by_cohere.results[0].relevance_score, by_jina[0].score],
        }
    )
)
