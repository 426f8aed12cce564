"""LiteLLM's proxy in front of the product: all operations, by OpenAI's client and the proxy's rerank path."""

import sys
from pathlib import Path

import httpx
import openai
from common import DOCUMENTS, QUERY, SENTENCE, TEXTS, free_port, kind_of, recording, running, show, tried

HERE = Path(__file__).parent
PROXY_KEY = "sk-proxy"

port = free_port()
command = [str(Path(sys.executable).parent / "litellm"), "--config", str(HERE / "litellm.yaml")]
command += ["--host", "127.0.0.1", "--port", str(port)]
with running(command, port, "/health/liveliness", LITELLM_LOCAL_MODEL_COST_MAP="True") as proxy:
    client = openai.OpenAI(base_url=f"{proxy}/v1", api_key=PROXY_KEY)
    show("models", [model.id for model in client.models.list()])
    vectors = client.embeddings.create(model="embed-m3", input=TEXTS[:32])
    show(
        "embeddings", {"model": vectors.model, "texts": len(vectors.data), "dimensions": len(vectors.data[0].embedding)}
    )
    tried(
        "embeddings with user",
        lambda: len(client.embeddings.create(model="embed-m3", input=TEXTS[:1], user="me").data[0].embedding),
    )
    for kind in ("wav", "mp3"):
        speech = client.audio.speech.create(model="tts-1", voice="amy", input=SENTENCE, response_format=kind)
        show(f"speech, {kind}", kind_of(speech.content))
    show("transcription", client.audio.transcriptions.create(model="whisper-1", file=recording()).text)
    verbose = client.audio.transcriptions.create(
        model="whisper-1", file=recording(), response_format="verbose_json", timestamp_granularities=["word"]
    )
    show("transcription, words", [word.word for word in verbose.words or []])
    body = {"model": "rerank-v2-m3", "query": QUERY, "documents": DOCUMENTS, "top_n": 2, "return_documents": True}
    answer = httpx.post(f"{proxy}/v1/rerank", json=body, headers={"Authorization": f"Bearer {PROXY_KEY}"}, timeout=60)
    show("rerank", answer.json()["results"])
