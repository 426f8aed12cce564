"""faster-whisper: <model> <compute type> <threads> <language> <sequential or batched> <beam> <text or words>.

A task is a list of audio files; the answer is their texts and timed words. Other options
have the package's defaults: fallback temperatures, and in batches a voice detector.
"""

import sys

from faster_whisper import BatchedInferencePipeline, WhisperModel
from line_server import serve

folder, compute_type, threads, language, way, beam, kind = sys.argv[1:]
model = WhisperModel(folder, device="cpu", compute_type=compute_type, cpu_threads=int(threads))
options = {"language": language, "beam_size": int(beam), "word_timestamps": kind == "words"}
if way == "batched":
    transcribe, options["batch_size"] = BatchedInferencePipeline(model).transcribe, 8
else:
    transcribe = model.transcribe


def _heard(file: str) -> dict[str, object]:
    segments = list(transcribe(file, **options)[0])
    words = [(word.word, float(word.start), float(word.end)) for segment in segments for word in segment.words or ()]
    return {"text": " ".join(segment.text for segment in segments), "words": words}


serve(lambda files: [_heard(file) for file in files], hears=True)
