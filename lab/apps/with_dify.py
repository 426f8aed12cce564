"""Dify: the SDK classes of the provider "OpenAI-API-compatible", with the values of its form."""

from common import BASE, DOCUMENTS, KEY, QUERY, SENTENCE, TEXTS, kind_of, recording, show, tried
from dify_plugin.interfaces.model.openai_compatible.rerank import OAICompatRerankModel
from dify_plugin.interfaces.model.openai_compatible.speech2text import OAICompatSpeech2TextModel
from dify_plugin.interfaces.model.openai_compatible.text_embedding import OAICompatEmbeddingModel
from dify_plugin.interfaces.model.openai_compatible.tts import OAICompatText2SpeechModel

FORM = {"endpoint_url": BASE, "api_key": KEY}
EMBEDDER = {**FORM, "max_chunks": "32", "context_size": "8192"}
SPEAKER = {**FORM, "voices": "amy,ryan,thorsten,siwis,paola,riccardo"}

embedder = OAICompatEmbeddingModel([])
# Dify would download a tokenizer to cut long texts.
embedder._get_num_tokens_by_gpt2 = len
vectors = embedder._invoke("embed-m3", EMBEDDER, TEXTS).embeddings
show("embeddings", {"texts": len(vectors), "dimensions": len(vectors[0])})
tried("embeddings with user", lambda: len(embedder._invoke("embed-m3", EMBEDDER, TEXTS, "user-1").embeddings))
embedder.validate_credentials("embed-m3", EMBEDDER)
show("embeddings, the form is accepted", True)

ranked = OAICompatRerankModel([])._invoke("rerank-v2-m3", FORM, QUERY, DOCUMENTS, top_n=2)
show("rerank", [(each.index, each.score) for each in ranked.docs])

speaker = OAICompatText2SpeechModel([])
speech = b"".join(speaker._invoke("tts-1", "tenant", SPEAKER, SENTENCE, "amy"))
voices = [each["value"] for each in speaker.get_tts_model_voices("tts-1", SPEAKER)]
show("speech", {"kind": kind_of(speech), "voices": voices})

with recording().open("rb") as file:
    show("transcription", OAICompatSpeech2TextModel([])._invoke("stt-1", FORM, file))
