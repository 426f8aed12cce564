"""Open WebUI: the app itself, configured by environment variables and called like its web page calls it."""

import sys
import tempfile
from pathlib import Path

import httpx
from common import BASE, DOCUMENTS, KEY, QUERY, SENTENCE, free_port, kind_of, recording, running, show

SETTINGS = {
    "AUDIO_STT_ENGINE": "openai",
    "AUDIO_STT_OPENAI_API_BASE_URL": BASE,
    "AUDIO_STT_OPENAI_API_KEY": KEY,
    "AUDIO_STT_MODEL": "stt-1",
    "AUDIO_TTS_ENGINE": "openai",
    "AUDIO_TTS_OPENAI_API_BASE_URL": BASE,
    "AUDIO_TTS_OPENAI_API_KEY": KEY,
    "AUDIO_TTS_MODEL": "tts-1",
    "AUDIO_TTS_VOICE": "amy",
    "AUDIO_TTS_OPENAI_PARAMS": '{"response_format": "mp3"}',
    "RAG_EMBEDDING_ENGINE": "openai",
    "RAG_OPENAI_API_BASE_URL": BASE,
    "RAG_OPENAI_API_KEY": KEY,
    "RAG_EMBEDDING_MODEL": "embed-m3",
    "RAG_EMBEDDING_BATCH_SIZE": "32",
    "ENABLE_RAG_HYBRID_SEARCH": "true",
    "RAG_RERANKING_ENGINE": "external",
    "RAG_EXTERNAL_RERANKER_URL": f"{BASE}/rerank",
    "RAG_EXTERNAL_RERANKER_API_KEY": KEY,
    "RAG_RERANKING_MODEL": "rerank-v2-m3",
}
# No login, no downloads, and a temporary folder.
AROUND = {
    "DATA_DIR": tempfile.mkdtemp(),
    "WEBUI_AUTH": "False",
    "WEBUI_SECRET_KEY": "of this run",
    "OFFLINE_MODE": "true",
    "ENABLE_OLLAMA_API": "false",
    "ENABLE_OPENAI_API": "false",
}


def _search(app: httpx.Client) -> list[str]:
    """Make a knowledge base of the documents, and return the first results for the query."""
    base = app.post("/api/v1/knowledge/create", json={"name": "notes", "description": "notes"}).json()["id"]
    for place, text in enumerate(DOCUMENTS):
        sent = app.post(
            "/api/v1/files/", params={"process_in_background": "false"}, files={"file": (f"{place}.txt", text)}
        )
        added = app.post(f"/api/v1/knowledge/{base}/file/add", json={"file_id": sent.json()["id"]})
        added.raise_for_status()
    wanted = {"collection_names": [base], "query": QUERY, "k": 2, "hybrid": True}
    found = app.post("/api/v1/retrieval/query/collection", json=wanted).json()
    return list(zip(found["documents"][0], found["distances"][0], strict=True))


port = free_port()
command = [str(Path(sys.executable).parent / "open-webui"), "serve", "--host", "127.0.0.1", "--port", str(port)]
with (
    running(command, port, "/health", **SETTINGS, **AROUND) as address,
    httpx.Client(base_url=address, timeout=60) as app,
):
    token = app.post("/api/v1/auths/signin", json={"email": "", "password": ""}).json()["token"]
    app.headers["Authorization"] = f"Bearer {token}"
    show("voices", [voice["id"] for voice in app.get("/api/v1/audio/voices").json()["voices"]])
    for voice in ("amy", "alloy"):
        speech = app.post("/api/v1/audio/speech", json={"input": SENTENCE, "voice": voice})
        show(f"speech, {voice}", {"status": speech.status_code, "kind": kind_of(speech.content)})
    heard = app.post(
        "/api/v1/audio/transcriptions", files={"file": ("hello.wav", recording().read_bytes(), "audio/wav")}
    )
    show("transcription", heard.json()["text"])
    show("embeddings and rerank", _search(app))
