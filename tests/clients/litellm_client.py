"""litellm against Quartet: embeddings, speech, transcription and rerank by setting the base address."""

import io
import json
import os

import litellm

ADDRESS, KEY = os.environ["QUARTET_URL"], os.environ["QUARTET_API_KEY"]
OPENAI = {"api_base": f"{ADDRESS}/v1", "api_key": KEY}

vectors = litellm.embedding(model="openai/embed-m3", input=["a cat", "a dog"], encoding_format="float", **OPENAI)
speech = litellm.speech(
    model="openai/tts-1",
    input="Good morning, Anna. Can you buy some bread today?",
    voice="ryan",
    response_format="wav",
    **OPENAI,
)
file = io.BytesIO(speech.content)
file.name = "hello.wav"
heard = litellm.transcription(model="openai/stt-1", file=file, **OPENAI)
documents = ["Bananas are yellow.", "Change your password under settings."]
ranked = litellm.rerank(
    model="jina_ai/rerank-v2-m3",
    query="How do I change my password?",
    documents=documents,
    top_n=1,
    api_base=f"{ADDRESS}/v1/rerank",
    api_key=KEY,
)
# It asks as TEI's clients do.
by_tei = litellm.rerank(
    model="huggingface/rerank-v2-m3",
    query="How do I change my password?",
    documents=documents,
    top_n=1,
    api_base=ADDRESS,
    api_key=KEY,
)
try:
    litellm.embedding(model="openai/embed-m3", input=["a"], api_base=f"{ADDRESS}/v1", api_key="wrong", num_retries=0)
    refused = ""
except litellm.AuthenticationError as error:
    refused = type(error).__name__

print(
    json.dumps(
        {
            "dimensions": [len(row["embedding"]) for row in vectors.data],
            "speech": speech.content[:4].decode(),
            "text": heard.text,
            "best": [ranked.results[0]["index"], by_tei.results[0]["index"]],
            "refused": refused,
        }
    )
)
