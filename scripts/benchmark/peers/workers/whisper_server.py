"""The least HTTP server around one faster-whisper: <model> <compute type> <threads> <port>."""

import sys

from faster_whisper import WhisperModel
from flask import Flask, request

model = WhisperModel(sys.argv[1], device="cpu", compute_type=sys.argv[2], cpu_threads=int(sys.argv[3]))
app = Flask(__name__)


@app.get("/health")
def health() -> dict[str, str]:
    return {}


@app.post("/v1/audio/transcriptions")
def transcribe() -> dict[str, str]:
    file = request.files["file"].stream
    segments, _ = model.transcribe(file, language="en", beam_size=1, temperature=0)
    return {"text": "".join(segment.text for segment in segments)}


app.run(port=int(sys.argv[4]), threaded=True)
