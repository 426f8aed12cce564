"""langchain-openai against Quartet, with its own settings: it sends tokens, 1,000 texts at a time."""

import asyncio
import json
import os

from langchain_openai import OpenAIEmbeddings

embeddings = OpenAIEmbeddings(
    model="embed-m3",
    base_url=os.environ["QUARTET_URL"] + "/v1",
    api_key=os.environ["QUARTET_API_KEY"],
)
documents = embeddings.embed_documents([f"text {number}" for number in range(40)])
query = embeddings.embed_query("text 3")
later = asyncio.run(embeddings.aembed_query("text 3"))
print(json.dumps({"documents": len(documents), "dimensions": len(query), "same": query == later == documents[3]}))
